// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace shardscope {

/// The releases of DeepSpeed whose checkpoints the tests read, oldest first. The newest one also judges what
/// is written: tests/interop/requirements.txt installs it.
inline constexpr std::array<std::string_view, 11> kTestedReleases{
    "0.3.10", "0.4.5", "0.5.3", "0.5.10", "0.6.7", "0.8.3", "0.10.3", "0.13.5", "0.14.4", "0.19.2", "0.19.8"};

/// Whether `version` ("0.19.8", "0.20.1+abc") is newer than every tested release. False for text that is not
/// a version.
bool isNewerThanTested(std::string_view version);

} // namespace shardscope
