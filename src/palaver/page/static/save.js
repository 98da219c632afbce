// Files to keep: what is shown as pictures, tables and names.

function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A cell of CSV; spreadsheets would take some texts for formulas.
function csvCell(value) {
  const text = value == null ? "" : String(value);
  return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" : "") + text.replaceAll('"', '""') + '"';
}

function saveCsv(rows, name) {
  const text = rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
  saveBlob(new Blob(["\ufeff" + text + "\r\n"], { type: "text/csv" }), name);
}
