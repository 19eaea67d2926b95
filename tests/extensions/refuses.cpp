// An extension that wants a newer host.
#include <terroir/extension_abi.h>

extern "C" TERROIR_EXTENSION_EXPORT const terroir_extension* terroir_get_extension(uint32_t) { return nullptr; }
