// Namespace ov: another name for terroir.
//
// CMake's target compiles programs with -Dov=terroir, so that they may open namespace ov again: to put their own passes
// there, specialize its templates, declare its classes. Without that definition it is an alias, which cannot be opened.
#pragma once

namespace terroir {}
#ifndef ov
namespace ov = terroir;
#endif
