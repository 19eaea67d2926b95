// Namespace ov: another name for terroir.
//
// An alias cannot be opened again: a program that puts something into namespace ov (its own passes, declarations of
// classes) is compiled with -Dov=terroir.
#pragma once

namespace terroir {}
#ifndef ov
namespace ov = terroir;
#endif
