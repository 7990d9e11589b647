// The drawings: signs of one line, and the four things that the shop sells.

import {draw} from "./dom.js";

const lines = (...paths) => paths.map(d => ["path", {d}]);

export const icons = {
  back: lines("M14.5 5.5 8 12l6.5 6.5"),
  go: lines("M9.5 5.5 16 12l-6.5 6.5"),
  out: lines("M8 16 16 8", "M9.5 8H16v6.5"),
  plus: lines("M12 6v12", "M6 12h12"),
  check: lines("M5.5 12.5 10 17l8.5-9.5"),
  cross: lines("M7 7l10 10", "M17 7 7 17"),
  bell: lines("M6.5 16.5h11l-1.4-2.2v-3.6a4.1 4.1 0 0 0-8.2 0v3.6z", "M10.5 19h3"),
  key: lines("M14.5 9.5a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0z", "M13.5 12l4.5 4.5", "M16 14.5l-1.5 1.5"),
  spark: lines("M12 4v5", "M12 15v5", "M4 12h5", "M15 12h5"),
  cart: lines("M5 7.5h14l-1.2 9a2 2 0 0 1-2 1.7H8.2a2 2 0 0 1-2-1.7z", "M9 10V7a3 3 0 0 1 6 0v3"),
  finger: lines(
    "M6.2 16.5V12a5.8 5.8 0 0 1 11.6 0v1.6", "M9 19v-7a3 3 0 0 1 6 0v4.2", "M12 12v6.6", "M17.6 16.6l-.5 2.3",
    "M14.8 19.4l-.2 1", "M7.6 5.9a8.2 8.2 0 0 1 8.8 0"),
};

const art = (...shapes) => () => draw(shapes, {viewBox: "0 0 120 100", class: "art"});
const path = (d, className) => ["path", {d, class: className}];

export const products = {
  coffee: art(
    path("M38 22h44l6 62a4 4 0 0 1-4 4H36a4 4 0 0 1-4-4z", "a"), path("M38 22h44l-3-9H41z", "b"),
    path("M35 50h50l2 22H33z", "c"),
    path("M60 53c5 0 8 4 8 8s-3 8-8 8-8-4-8-8 3-8 8-8z", "b"), path("M58 54c-3 5 7 8 3 14", "line")),
  honey: art(
    path("M40 36h40c5 4 7 9 7 16v28a8 8 0 0 1-8 8H41a8 8 0 0 1-8-8V52c0-7 2-12 7-16z", "a"),
    path("M36 60h48v16H36z", "c"), path("M38 24h44a3 3 0 0 1 3 3v9H35v-9a3 3 0 0 1 3-3z", "b"),
    path("M46 68h28", "line"), path("M60 12v12", "line")),
  mug: art(
    path("M32 32h46v44a12 12 0 0 1-12 12H44a12 12 0 0 1-12-12z", "a"), path("M32 32h46v12H32z", "b"),
    path("M78 46h6a12 12 0 0 1 0 24h-6v-8h5a4 4 0 0 0 0-8h-5z", "a"),
    path("M46 24c-4-5 4-7 0-12M60 24c-4-5 4-7 0-12", "line")),
  tea: art(
    path("M36 34h48v48a6 6 0 0 1-6 6H42a6 6 0 0 1-6-6z", "a"), path("M34 22h52v14H34z", "b"),
    path("M42 48h36v26H42z", "c"), path("M60 70c-9-4-9-13 0-18 9 5 9 14 0 18zM60 56v16", "line")),
};
