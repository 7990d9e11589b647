// Elements in one expression: h("p.note", {id: "x", onclick: f}, "text", other). Texts are texts, never markup.

const make = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter(child => child !== null && child !== undefined && child !== false));
  return element;
};

const isPlain = value => value && typeof value === "object" && !Array.isArray(value) && !(value instanceof Node);

export const h = (name, ...rest) => {
  const [tag, ...classes] = name.split(".");
  const attributes = isPlain(rest[0]) ? rest.shift() : {};
  const element = make(document.createElement(tag || "div"), attributes, rest);
  if (classes.length) element.classList.add(...classes);
  return element;
};

/** A drawing: an SVG of 24 units with these paths. */
export const draw = (paths, attributes = {}) => {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = make(
    document.createElementNS(namespace, "svg"), {viewBox: "0 0 24 24", "aria-hidden": "true", ...attributes}, []);
  for (const [tag, members] of paths) svg.append(make(document.createElementNS(namespace, tag), members, []));
  return svg;
};

export const $ = (selector, within = document) => within.querySelector(selector);

export const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

/** A place in the browser that keeps one text; without storage it is kept as long as the page. */
export const place = name => {
  let fallback = null;
  return {
    read() {
      try { return localStorage.getItem(name); } catch { return fallback; }
    },
    write(text) {
      fallback = text;
      try {
        if (text === null) localStorage.removeItem(name);
        else localStorage.setItem(name, text);
      } catch { /* The fallback has it. */ }
    },
  };
};
