// Browsers refuse to start a worker on a page that was opened as a file. The search of the site runs in one.
// On such pages this takes its place: the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      this.ready = new Promise((resolve) => { inner.startedBySite = resolve; });
      inner.answerToSite = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.document.open();
      inner.document.write(
        "<script>postMessage = answerToSite;" +
        "importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((resolve) => {" +
        "const script = document.createElement('script'); script.src = url; script.onload = resolve;" +
        "document.body.appendChild(script); })), Promise.resolve());</script>" +
        `<body><script src="${url}"></script><script>startedBySite();</script></body>`
      );
      inner.document.close();
    }
    postMessage(data) {
      this.ready.then(() => {
        const inner = this.frame.contentWindow;
        inner.dispatchEvent(new inner.MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
