// An extension of a version that this library cannot know.
#include <terroir/extension_abi.h>

extern "C" TERROIR_EXTENSION_EXPORT const terroir_extension* terroir_get_extension(uint32_t) {
  static const terroir_extension extension{sizeof(terroir_extension), TERROIR_ABI_VERSION + 1, "from the future", 0,
                                           nullptr, 0, nullptr};
  return &extension;
}
