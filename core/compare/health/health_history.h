// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open/open.h"
#include "core/compare/health/health.h"

#include <memory>

namespace shardscope {

/// Health of one tag.
struct TagHealth {
    std::string tag;
    std::optional<int64_t> step; ///< global steps
    std::optional<int64_t> skipped; ///< of them, steps without an update
    std::optional<Error> error; ///< why the tag cannot be read; the rest is empty then
    bool exact = true; ///< false: large tensors were sampled
    struct Group {
        uint32_t index = 0;
        UpdateRule rule;
        std::optional<double>
            plannedRate; ///< the highest of its schedule, where a scheduler of torch keeps it
    };
    std::vector<Group> groups; ///< param groups of the optimizer
    std::vector<HealthRow> layers;
    std::vector<HealthRow> params; ///< empty if there are more than kMaxParams
    static constexpr size_t kMaxParams = 4096; ///< so that a history stays small
    std::vector<RankSample> ranks;
    std::vector<RankCoordinate> oddRanks; ///< whose files are of another step than the tag

    [[nodiscard]] const HealthRow* find(std::string_view layer) const;
    [[nodiscard]] double learningRate() const; ///< the highest of all groups
    [[nodiscard]] double highestRate() const; ///< the same, or what a schedule of theirs plans
};

/// Keeps what was read of a tag in a folder of the user's cache, by the identity of all its files, so that it
/// is not read again. Bytes that it does not understand are nothing. Thread-safe.
class HealthCache
{
public:
    /// Without a folder, nothing is kept.
    HealthCache(io::FileSystem& files, io::Path folder);

    [[nodiscard]] std::optional<TagHealth> find(const Checkpoint& checkpoint, bool exact) const;
    /// `exact`: as it was asked for. Failures are ignored: it will be read again.
    void keep(const Checkpoint& checkpoint, bool exact, const TagHealth& health) const;

private:
    io::FileSystem& m_files;
    io::Path m_folder;
};

/// shardscope/health of the user's cache; empty where the user has none.
io::Path userHealthCache();

/// Reads one tag, or takes it from the cache. `take`, if set, gets every parameter;
/// if the tag has no list of them, it is read.
Result<TagHealth> readHealth(io::FileSystem& files, const Checkpoint& checkpoint, bool exact,
    const HealthCache& cache, const Workers& workers, JobContext& job, const HealthTake& take = {});

/// The tags of a run, oldest first. `base` is opened with each of `names` as the tag, with the further
/// folders and the kind of `open`; but a swap folder without a checkpoint of its own holds the state of one
/// tag, which is `known`. Each tag is also passed on when it was read. A tag that cannot be read has `error`
/// set; fails only if cancelled.
struct HistoryRequest {
    io::Path base;
    std::vector<std::string> names;
    OpenOptions open = {};
    bool exact = false;
    const TagHealth* known = nullptr; ///< the tag of this name was read already
};
Result<std::vector<TagHealth>> readHistory(io::FileSystem& files, const HistoryRequest& request,
    const HealthCache& cache, const Workers& workers, JobContext& job,
    const std::function<void(const TagHealth&)>& passOn = {});

} // namespace shardscope
