// A pad to draw a digit on: white on black, as the digits model learned them.

export class Pad {
  // `hint` is shown while the pad is empty; `onDrawn` gets a PNG when a stroke ends.
  constructor(canvas, hint, onDrawn) {
    this.canvas = canvas;
    this.hint = hint;
    this.context = canvas.getContext('2d');
    this.onDrawn = onDrawn;
    this.clear();
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.hint.hidden = true;
      this.at = this.place(event);
      this.line(this.at);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (this.at) for (const one of event.getCoalescedEvents?.() ?? [event]) this.line(this.place(one));
    });
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, () => {
        if (!this.at) return;
        this.at = null;
        this.canvas.toBlob((png) => this.onDrawn(png), 'image/png');
      });
    }
  }

  clear() {
    this.hint.hidden = false;
    this.context.fillStyle = '#000';
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.canvas.width / box.width, (event.clientY - box.top) * this.canvas.height / box.height];
  }

  line(to) {
    const {context} = this;
    context.strokeStyle = '#fff';
    context.lineWidth = this.canvas.width / 12;
    context.lineCap = context.lineJoin = 'round';
    context.beginPath();
    context.moveTo(...this.at);
    context.lineTo(...to);
    context.stroke();
    this.at = to;
  }
}
