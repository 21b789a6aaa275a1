// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
// Pages opened as files may start no worker. The search then runs in a hidden frame that stands in for one.
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      // What the worker's script posts goes to this page.
      this.frame.srcdoc = "<script>self.postMessage = (data) => parent.postMessage(data, '*');<\/script><body></body>";
      window.addEventListener("message", (event) => {
        if (event.source === null || event.source !== this.frame.contentWindow) return;
        const answer = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(answer);
        if (this.onmessage) this.onmessage(answer);
      });
      this.frame.onload = () => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = String(url);
        script.onload = () => {
          for (const data of this.waiting) this.send(data);
          this.waiting = null;
        };
        this.frame.contentDocument.body.appendChild(script);
        this.frame.onload = null;
      };
      const attach = () => document.body.appendChild(this.frame);
      if (document.body) attach();
      else addEventListener("DOMContentLoaded", attach);
    }

    // The frame's own event, because its postMessage has been replaced.
    send(data) {
      const frame = this.frame.contentWindow;
      frame.dispatchEvent(new frame.MessageEvent("message", { data, source: window }));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.send(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
