#pragma once
// What: DFT, IDFT (complex), RDFT (real to complex), IRDFT (complex to real); STFT and ISTFT (of overlapping frames).
// Complex numbers are pairs on the last axis. Inputs: data, axes [k], signal_size [k] (optional; -1: the extent as it
// is); STFT: signal [L] or [N, L], window, frame_size, frame_step; ISTFT: data [bins, frames, 2] or with N, window,
// frame_size, frame_step, signal_length (optional). Formula: Y[k] = sum of X[j] exp(-2 pi i j k / n); the inverses have
// the other sign and divide by n. Shapes: extents of `axes` become the signal sizes; RDFT: s / 2 + 1 on the last one
// and pairs at the end; IRDFT: s, by default 2 * (extent - 1), and no pairs. STFT: [.., frames, bins, 2] or with
// transpose_frames [.., bins, frames, 2], frames = (L - size) / step + 1, bins = size / 2 + 1. ISTFT: [.., length], by
// default (frames - 1) * step + size, or + size % 2 if center. Edge cases: negative axes do not count the pairs; a
// window shorter than the frame is put in its middle. Source: operation pages DFT-7, IDFT-7, RDFT-9, IRDFT-9, STFT-15,
// ISTFT-16. IRDFT-9's text pads after mirroring; as its reference results and numpy.fft.irfft do, the half spectrum is
// cut or padded first.
#include "ir/schema/attributes.hpp"
#include "ops/reference/signals/fourier.hpp"

namespace terroir::ops {

struct StftAttrs {
  bool transpose_frames = false;

  template <class V>
  void visit(V& v) {
    v("transpose_frames", transpose_frames, ir::Presence::required);
  }
};

struct IstftAttrs {
  bool center = false;
  bool normalized = false;

  template <class V>
  void visit(V& v) {
    v("center", center, ir::Presence::required);
    v("normalized", normalized, ir::Presence::required);
  }
};

}  // namespace terroir::ops
