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

/** Say what the fields are for that Swagger UI leaves without a name. */
function nameFields() {
  for (const field of reference.querySelectorAll("textarea:not([aria-label])")) {
    field.setAttribute("aria-label", "Request body");
  }
}
