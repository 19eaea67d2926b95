// An extension whose second layer has no compute(): none of its layers may be added.
#include <terroir/extension_abi.h>

namespace {

int32_t infer(void*, const terroir_host*, const terroir_attributes*, terroir_inference*, terroir_error*) { return 1; }
int32_t compute(void*, const void*, const terroir_host*, const terroir_attributes*, terroir_run*, int32_t,
                const terroir_tensor*, int32_t, const terroir_tensor*, void*, terroir_error*) {
  return 1;
}

terroir_layer layer(const char* type) {
  terroir_layer result{};
  result.struct_size = sizeof result;
  result.abi_version = TERROIR_ABI_VERSION;
  result.type = type;
  result.min_inputs = result.max_inputs = result.outputs = 1;
  result.infer = &infer;
  return result;
}

}  // namespace

extern "C" TERROIR_EXTENSION_EXPORT const terroir_extension* terroir_get_extension(uint32_t) {
  static terroir_layer whole = layer("Whole");
  whole.compute = &compute;
  static const terroir_layer part = layer("Part");
  static const terroir_layer* const layers[] = {&whole, &part};
  static const terroir_extension extension{sizeof(terroir_extension), TERROIR_ABI_VERSION, "wrong", 2, layers, 0, nullptr};
  return &extension;
}
