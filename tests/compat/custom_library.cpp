// A library of layers of OpenVINO's C++ API.
#include <openvino/frontend/extension.hpp>

#include "tests/compat/custom_layers.hpp"

OPENVINO_CREATE_EXTENSIONS(
    std::vector<ov::Extension::Ptr>({std::make_shared<ov::OpExtension<custom::Identity>>(),
                                     std::make_shared<ov::frontend::OpExtension<custom::Identity>>(),
                                     std::make_shared<ov::OpExtension<custom::Parts>>()}));
