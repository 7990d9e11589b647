// Puts the page together: the phone in the middle, the guide and what is behind the curtain beside it.

import {app, begin, speak, startOver} from "./app.js";
import {$} from "./dom.js";
import {showGuide} from "./guide.js";
import {showPanels} from "./panels.js";
import {showScreen} from "./screens.js";
import {language, t} from "./texts.js";

const showFrame = () => {
  document.title = t("title");
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", t(element.dataset.label));
  }
  const button = $("#language");
  button.textContent = t("language");
  button.lang = language.tag === "en" ? "pt-BR" : "en";
};

// What stands beside the phone on a wide screen folds away on a small one.
const wide = matchMedia("(min-width: 760px)");
const fold = () => { for (const element of document.querySelectorAll("details.fold")) element.open = wide.matches; };
wide.addEventListener("change", fold);
fold();

$("#language").addEventListener("click", () => speak(language.tag === "en" ? "pt-BR" : "en"));
$("#anew").addEventListener("click", startOver);
app.listeners.push(showFrame, showScreen, showGuide, showPanels);
begin();
