// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/far/far_path.h"
#include "core/serve/file_calls.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::far {

/// A question has so many bytes of data at most, which are held until all have arrived.
inline constexpr uint64_t kQuestionBytes = uint64_t{16} << 20;

/// What to ask one host, with the place of each answer.
struct AskedCalls {
    std::vector<serve::FileCall> calls;
    std::vector<std::span<uint8_t>> outs; ///< of data; as many as calls
    std::vector<size_t> places;

    void add(serve::FileCall call, size_t place, std::span<uint8_t> out = {});
};

/// A device number of another host is none of this machine: folders of both are never taken for the same one.
/// Done twice, it is undone.
io::FileIdentity marked(io::FileIdentity identity, const std::string& host);

serve::FileCall callOf(std::string_view what, const FarPath& path);
/// One call on a path; `text` gets its data.
serve::FileResult askOne(const FarPath& path, serve::FileCall call, std::string* text = nullptr);
/// All calls, in questions of a good size, several under way at once. Results with marked identities and far
/// paths in their errors, in the order of the calls.
std::vector<serve::FileResult> askHost(const std::string& host, const AskedCalls& asked);
/// Asks all hosts side by side, and gives each result with its place to `take`, one at a time.
void askHosts(const std::map<std::string, AskedCalls>& byHost,
    const std::function<void(size_t, serve::FileResult)>& take);

} // namespace shardscope::far
