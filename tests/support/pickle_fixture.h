// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_machine.h"

#include <string>
#include <string_view>

namespace shardscope::fixture {

/// A stream of tests/data/pickles, by its name without ".pkl".
std::string readPickle(std::string_view name);
/// parsePickle with default limits and no job.
Result<PickleParse> tryParse(std::string stream, const PickleLimits& limits = {});
/// The graph; the test fails when the stream is refused.
PickleGraph parse(std::string stream);

} // namespace shardscope::fixture
