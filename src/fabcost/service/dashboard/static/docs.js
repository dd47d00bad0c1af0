// The reference of the API, by Swagger UI: a key that is entered stays in the memory of this page.
const missing = "Swagger UI is not installed beside this server: pip install 'fabcost[service]'. "
  + "The document itself is at openapi.json.";

const reference = document.getElementById("reference");

if (window.SwaggerUIBundle === undefined) {
  document.getElementById("waiting").textContent = missing;
} else {
  window.SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#reference",
    validatorUrl: null, // would ask another site
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    syntaxHighlight: false, // too pale to be read by all
    tryItOutEnabled: true,
  });
  new MutationObserver(nameFields).observe(reference, { childList: true, subtree: true });
}

/** Say what is there for, where Swagger UI leaves it without a name, or with another than is seen. */
function nameFields() {
  for (const [selector, name] of [
    ["textarea:not([aria-label])", "Request body"],
    [".close-modal:not([aria-label])", "Close"],
    [".copy-to-clipboard button:not([aria-label])", "Copy"],
    [".auth.authorize:not([aria-label=Authorize])", "Authorize"],
  ]) {
    for (const each of reference.querySelectorAll(selector)) each.setAttribute("aria-label", name);
  }
}
