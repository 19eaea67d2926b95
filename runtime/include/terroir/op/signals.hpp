// Fourier transforms, as code makes them.
#pragma once

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v7 {

class DFT : public util::FFTBase {
  TERROIR_LAYER_OF(util::FFTBase, DFT, "DFT", "opset7")
  DFT(const Output<Node>& data, const Output<Node>& axes) : DFT(OutputVector{data, axes}) {}
  DFT(const Output<Node>& data, const Output<Node>& axes, const Output<Node>& signal_size)
      : DFT(OutputVector{data, axes, signal_size}) {}
};

class IDFT : public util::FFTBase {
  TERROIR_LAYER_OF(util::FFTBase, IDFT, "IDFT", "opset7")
  IDFT(const Output<Node>& data, const Output<Node>& axes) : IDFT(OutputVector{data, axes}) {}
  IDFT(const Output<Node>& data, const Output<Node>& axes, const Output<Node>& signal_size)
      : IDFT(OutputVector{data, axes, signal_size}) {}
};

}  // namespace v7

namespace v9 {

class RDFT : public util::FFTBase {
  TERROIR_LAYER_OF(util::FFTBase, RDFT, "RDFT", "opset9")
  RDFT(const Output<Node>& data, const Output<Node>& axes) : RDFT(OutputVector{data, axes}) {}
  RDFT(const Output<Node>& data, const Output<Node>& axes, const Output<Node>& signal_size)
      : RDFT(OutputVector{data, axes, signal_size}) {}
};

class IRDFT : public util::FFTBase {
  TERROIR_LAYER_OF(util::FFTBase, IRDFT, "IRDFT", "opset9")
  IRDFT(const Output<Node>& data, const Output<Node>& axes) : IRDFT(OutputVector{data, axes}) {}
  IRDFT(const Output<Node>& data, const Output<Node>& axes, const Output<Node>& signal_size)
      : IRDFT(OutputVector{data, axes, signal_size}) {}
};

}  // namespace v9

namespace v15 {

class STFT : public Node {
  TERROIR_LAYER(STFT, "STFT", "opset15")
  STFT(const Output<Node>& signal, const Output<Node>& window, const Output<Node>& frame_size,
       const Output<Node>& frame_step, bool transpose_frames)
      : STFT(OutputVector{signal, window, frame_size, frame_step}, {{"transpose_frames", transpose_frames}}) {}
  bool get_transpose_frames() const { return detail::attribute<bool>(*this, "transpose_frames"); }
};

}  // namespace v15

namespace v16 {

class ISTFT : public Node {
  TERROIR_LAYER(ISTFT, "ISTFT", "opset16")
  ISTFT(const Output<Node>& data, const Output<Node>& window, const Output<Node>& frame_size,
        const Output<Node>& frame_step, bool center, bool normalized)
      : ISTFT(OutputVector{data, window, frame_size, frame_step}, {{"center", center}, {"normalized", normalized}}) {}
  ISTFT(const Output<Node>& data, const Output<Node>& window, const Output<Node>& frame_size,
        const Output<Node>& frame_step, const Output<Node>& signal_length, bool center, bool normalized)
      : ISTFT(OutputVector{data, window, frame_size, frame_step, signal_length},
              {{"center", center}, {"normalized", normalized}}) {}
  bool get_center() const { return detail::attribute<bool>(*this, "center"); }
  bool get_normalized() const { return detail::attribute<bool>(*this, "normalized"); }
};

}  // namespace v16
}  // namespace op
}  // namespace terroir
