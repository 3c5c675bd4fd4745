// Search is a worker, and browsers start none for a page that was opened from a folder: here a hidden
// frame of the same page does its work. Its name is the one that the theme looks for, which would
// otherwise load such a script from another host.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.started = new Promise(resolve => { frame.onload = resolve })
      document.body.append(frame)
      this.frame = frame.contentWindow
      const inside = this.frame.document
      inside.open()
      this.frame.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.write(`<script src="${url}"></script>`)
      inside.close()
    }

    postMessage(data) {
      this.started.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
