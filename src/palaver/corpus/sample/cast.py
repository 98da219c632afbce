"""The people of the synthetic help forum written for Palaver; every name is invented."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    """A synthetic forum member.

    Attributes
    ----------
    handle : str
        The name the member writes under.
    role : str
        One of expert, moderator, regular and newcomer.
    mood : str
        One of polite, grumpy, terse and chatty; it colours the phrasing.
    """

    handle: str
    role: str
    mood: str


_HANDLES = {
    ("expert", "polite"): "lantern_ada mrs_pemberley",
    ("expert", "grumpy"): "OldBrassKey gravel_sys",
    ("expert", "terse"): "rfc_reader nullpointerette",
    ("expert", "chatty"): "TinCanTom fennel42",
    ("moderator", "polite"): "mod_Isolde mod_Whitby",
    ("moderator", "terse"): "mod_Karst",
    ("moderator", "chatty"): "mod_Juniper",
    ("regular", "polite"): (
        "pixelheron amberly_w brookside9 Hanneke_V sparrowfax milo_d cardamom_kay tessellate"
    ),
    ("regular", "grumpy"): "rusty_hinge BasementDweller3 mudlark77 noMoreUpdates quorndog",
    ("regular", "terse"): "kx9 jb_west 4thfloor tarmac_t vole plinth ottoman_e",
    ("regular", "chatty"): (
        "marmaladeskies GrandpaGus knit_and_grit bumblebea Zuzanna_P teapot418 parsley_pete "
        "sunday_solder wanderweg"
    ),
    ("newcomer", "polite"): (
        "mossy_kettle elspeth_new violinmaker22 ravi_from_3b Odette_L paperboat_jim newhere_nora "
        "gardenia5 thankyou_kindly lowtide_lou"
    ),
    ("newcomer", "grumpy"): (
        "whyme1987 fedup_in_fife notagain_not_again Dieselmax cranky_cellist user48213 argh_arno"
    ),
    ("newcomer", "terse"): "sk_27 bram77 tdot nik_lives jjj3 helmut_s dunes oak55 r_quist",
    ("newcomer", "chatty"): (
        "SunnyDaySal biscuit_thief nana_of_six DaydreamDiego lostinmenus postcard_polly "
        "twoleftthumbs hobbyfarmer_jo curious_cleo first_post_felix cloudberry_mum"
    ),
}

CAST = tuple(
    Person(handle, role, mood)
    for (role, mood), handles in _HANDLES.items()
    for handle in handles.split()
)

BY_ROLE = {
    role: tuple(person for person in CAST if person.role == role)
    for role in ("expert", "moderator", "regular", "newcomer")
}
