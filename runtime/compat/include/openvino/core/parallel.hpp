// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/parallel.hpp"

// OpenVINO has these outside of its namespace.
using terroir::parallel_get_env_threads;
using terroir::parallel_get_max_threads;
using terroir::parallel_get_num_threads;
using terroir::parallel_get_thread_num;
using terroir::parallel_set_num_threads;
