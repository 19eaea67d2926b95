// Visibility of the public symbols.
//
// TERROIR_STATIC is defined (by the CMake target terroir::terroir_static) when linking the static archive.
#pragma once

#if defined(TERROIR_STATIC)
#define TERROIR_API
#elif defined(_WIN32)
#if defined(TERROIR_EXPORTS)
#define TERROIR_API __declspec(dllexport)
#else
#define TERROIR_API __declspec(dllimport)
#endif
#else
#define TERROIR_API __attribute__((visibility("default")))
#endif
