// The OpenVINO header of this name. Terroir deprecates nothing, so there is nothing to silence.
#pragma once

#define OPENVINO_DEPRECATED(message)
#define OPENVINO_SUPPRESS_DEPRECATED_START
#define OPENVINO_SUPPRESS_DEPRECATED_END
