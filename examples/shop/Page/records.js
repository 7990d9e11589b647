// The rows of the present record in PostgreSQL, and the SQL that an operator would ask.

import {app, backend} from "./app.js";
import {$, h} from "./dom.js";
import {shortened, teach, t} from "./texts.js";

teach({
  rows: ["PostgreSQL", "PostgreSQL"],
  rows_none: ["A linha do registro aparece aqui e muda a cada passo.",
    "The record's row appears here, and changes at every step."],
  sql: ["Ver o SQL", "Show the SQL"],
  sql_title: ["O que um operador pergunta", "What an operator asks"],
  sql_text: [
    "Por uma conexão que só lê: ./dev psql faz o mesmo no terminal.",
    "Over a connection that may only read: ./dev psql does the same in a terminal."],
  sql_row: ["Em que pé está?", "How far is it?"],
  sql_history: ["O que aconteceu, e por quem?", "What happened, and who caused it?"],
  sql_order: ["O pedido está pago?", "Is the order paid?"],
  sql_double: ["Foi pago duas vezes?", "Was it paid twice?"],
  sql_events: ["O que a loja soube?", "What was the shop told?"],
  no_rows: ["nenhuma linha", "no rows"],
  close: ["Fechar", "Close"],
  copy_sql: ["Copiar", "Copy"],
});

const shown = value => value === null ? "∅" : typeof value === "boolean" ? (value ? "t" : "f")
  : String(value).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(\.\d{3})?).*$/, "$1 $2");

/** As short as it can be told from others: an id's end, a moment without its day. */
const brief = text => shortened(text).replace(/^\d{4}-\d\d-\d\d (\d\d:)/, "$1");

/** The newest row that was told of the record, with what has changed since the one before. */
const present = lines => {
  const told = lines.filter(line => line.kind === "row" && line.row.id === app.record?.id);
  const [before, row] = [told.at(-2)?.row, told.at(-1)?.row];
  return row ? {table: `${told.at(-1).record_type}s`, before, row} : null;
};

const table = (rows, label) => {
  const names = Object.keys(rows[0]);
  return h("div.scroll", {tabindex: "0", role: "region", "aria-label": label}, h("table",
    h("thead", h("tr", names.map(name => h("th", {scope: "col"}, name)))),
    h("tbody", rows.map(row => h("tr", names.map(name => h("td", shown(row[name]))))))));
};

const openDialog = async copier => {
  const record = `${app.kind}:${app.record.id}`;
  const {results} = await backend("GET", `/demo/records?record=${record}`);
  const leave = () => {
    dialog.remove();
    $("#show-sql").focus();
  };
  const dialog = h("dialog.curtain", {"aria-labelledby": "sql-title", closedby: "any", onclose: leave},
    h("div.head", h("h2", {id: "sql-title"}, t("sql_title")),
      h("button.quiet", {type: "button", id: "close-sql", onclick: () => dialog.close()}, t("close"))),
    h("p", t("sql_text")),
    results.map(({title, sql, rows}) => h("section", {"data-title": title}, h("h3", t(`sql_${title}`)),
      h("div.sql", h("pre", {tabindex: "0"}, sql), copier(sql, "copy_sql")),
      rows.length ? table(rows, t(`sql_${title}`)) : h("p.none", `(${t("no_rows")})`))));
  document.body.append(dialog);
  dialog.showModal();
};

let drawn = "";

/** Draws the row, where it is another one than before. */
export const showRecords = (lines, copier) => {
  const place = $("#records");
  const found = present(lines);
  const key = JSON.stringify([found, t("rows"), app.record?.id]);
  if (key === drawn && place.hasChildNodes()) return;
  drawn = key;
  const isFocused = place.contains(document.activeElement);
  place.replaceChildren(
    h("h2", {id: "records-title"}, h("span", t("rows"), found ? h("code", found.table) : null),
      found ? h("button.quiet", {type: "button", id: "show-sql", onclick: () => openDialog(copier)}, t("sql")) : null),
    found ? h("dl.columns", Object.entries(found.row).map(([name, value]) => h(
      `div${found.before && shown(found.before[name]) !== shown(value) ? ".changed" : ""}`,
      h("dt", name), h("dd", brief(shown(value)))))) : h("p.none", t("rows_none")));
  if (isFocused) $("#show-sql")?.focus({preventScroll: true});
};
