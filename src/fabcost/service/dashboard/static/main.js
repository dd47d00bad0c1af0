/** The page: asks the server each second and shows what it answers. */

import { choose, chosen } from "./address.js";
import { showAlarms } from "./alarms.js";
import { drawCalibration } from "./calibration_chart.js";
import { ask, keepKey } from "./connection.js";
import { drawCtr } from "./ctr_chart.js";
import { DecisionsTable } from "./decisions_table.js";
import { element, part } from "./elements.js";
import { drawEntropy } from "./entropy_chart.js";
import { explain } from "./explanation.js";
import { showHeadline } from "./headline.js";
import { showItems } from "./items_table.js";
import { showLearner, showState } from "./learner.js";
import { showLearnt } from "./learnt_tables.js";
import { showModels } from "./models_table.js";
import { Polling } from "./polling.js";
import { settled } from "./settled.js";
import { Source } from "./source.js";
import { showStatus } from "./status.js";
import { showTiles } from "./tiles.js";
import { openWorkshop } from "./workshop.js";

const source = new Source();
const everything = chosen().view === "models";
const seen = { model: null, stats: null, contrasts: null };
const decisions = new DecisionsTable(part("decisions"), part("held"),
  (decision) => explain(ask, seen.model, decision));
const polling = new Polling(look, (error, delay) => showStatus(error, delay, () => polling.again()));

async function look() {
  const { models } = await ask("v1/models");
  const model = pick(models);
  part("empty").hidden = models.length > 0;
  part("create").hidden = !everything && models.length > 0;
  part("all").hidden = !everything || models.length === 0;
  if (everything && models.length > 0) {
    await showModels(part("models"), models);
    return;
  }
  if (!model) {
    part("figures").hidden = true;
    return;
  }
  const read = await source.read(model, Number(part("minutes").value));
  if (part("model").value !== model.name) return;
  Object.assign(seen, { model, stats: read.stats, contrasts: read.contrasts });
  show();
  decisions.show(model, read.decisions);
}

function pick(models) {
  const names = models.map(({ name }) => name);
  const picker = part("model");
  const wanted = picker.value || chosen().model;
  for (const field of ["picking", "spanning"]) part(field).hidden = everything;
  if (names.join("\n") !== [...picker.options].map(({ value }) => value).join("\n")) {
    picker.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    picker.disabled = names.length === 0;
    picker.value = names.includes(wanted) ? wanted : (names[0] ?? "");
  }
  return models.find(({ name }) => name === picker.value);
}

function show() {
  const { model, stats } = seen;
  const known = settled(stats, model.settings.reward_wait_seconds);
  document.title = `${model.name} · fabcost`;
  part("figures").hidden = false;
  showHeadline({ title: part("headline-title"), note: part("headline-note"), status: part("headline-status") },
    stats, model.settings);
  showState(part("state"), stats);
  showAlarms(part("alarms"), part("alarm-list"), stats);
  showTiles(part("tiles"), stats, known);
  drawCtr(part("ctr"), part("ctr-note"), stats, known);
  drawCalibration(part("calibration"), part("calibration-note"), stats);
  drawEntropy(part("entropy"), part("entropy-note"), stats, model.settings.propensities);
  showItems(part("items"), part("effects-note"), stats);
  showLearner(part("learner"), stats);
  filterLearnt();
}

function filterLearnt() {
  const { contrasts } = seen;
  if (contrasts) showLearnt(part("learnt"), part("learnt-note"), contrasts, part("filter").value);
}

function listen() {
  openWorkshop(() => seen.model.name);
  part("filter").addEventListener("input", filterLearnt);
  part("why-close").addEventListener("click", () => part("why").close());
  window.addEventListener("resize", () => part("figures").hidden || show());
  for (const name of ["model", "minutes"]) {
    part(name).addEventListener("change", () => {
      choose({ [name]: part(name).value });
      polling.again();
    });
  }
  part("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(part("key").value.trim());
  });
  part("forget").addEventListener("click", () => {
    keepKey(null);
    location.reload();
  });
}

function useKey(key) {
  keepKey(key);
  part("key").value = "";
  polling.again();
}

const { minutes } = chosen();
if ([...part("minutes").options].some(({ value }) => value === minutes)) part("minutes").value = minutes;
listen();
polling.run();
