// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/source_list.h"

#include "core/base/text.h"

namespace shardscope {

SourceList::SourceList(io::FileSystem& files, const Checkpoint& source, JobContext& job)
    : m_files(files)
    , m_source(source)
    , m_job(job)
    , m_map(source.files.size(), Segment::kZero)
{
}

Status SourceList::add(FileId id)
{
    if (id == kNoFile || m_map[index(id)] != Segment::kZero)
        return {};
    const CheckpointFile& file = m_source.file(id);
    if (file.role == FileRole::Swap || hasNoRunFolder(m_source.kind)) {
        addBare(id, file);
        return {};
    }
    std::shared_ptr<const TorchFile> content = file.content;
    if (!content) { // dropped after its facts were read: read its directory again
        SHARDSCOPE_CHECK(m_job.poll());
        SHARDSCOPE_TRY(content, TorchFile::open(m_files, file.path, ReadMode::Tolerant, m_job));
    }
    m_map[index(id)] = static_cast<uint32_t>(m_sources.size());
    m_sources.push_back({file.path, file.name, content->identity(), content->zip().records()});
    return {};
}

void SourceList::addBare(FileId id, const CheckpointFile& file)
{
    ZipRecord whole;
    whole.name = file.path.filename().string();
    whole.bytes = file.identity.bytes;
    whole.inflatedBytes = whole.bytes;
    whole.crcPresent = false;
    m_map[index(id)] = static_cast<uint32_t>(m_sources.size());
    m_sources.push_back({file.path, file.name, file.identity, {std::move(whole)}});
}

std::shared_ptr<const std::vector<uint32_t>> SourceList::takeMap()
{
    return std::make_shared<const std::vector<uint32_t>>(std::move(m_map));
}

Status SourceList::addAllOf(const UnitState& state)
{
    for (const StoredRun& run : state.perRank)
        SHARDSCOPE_CHECK(add(run.file));
    for (const StoredRun& run : state.perParam)
        SHARDSCOPE_CHECK(add(run.file));
    for (const UnitState::Slice& slice : state.perSlice)
        SHARDSCOPE_CHECK(add(slice.run.file));
    for (size_t i = 0; state.boxes && i < state.boxes->runs.size(); ++i)
        SHARDSCOPE_CHECK(add(state.boxes->runs[i].file));
    return {};
}

std::string identityText(const std::vector<PlanSource>& sources)
{
    std::string out;
    for (const PlanSource& source : sources)
        out += source.name + "|" + std::to_string(source.identity.bytes) + "|"
            + std::to_string(source.identity.modifiedNs) + "\n";
    return out;
}

Status requireRuns(const Checkpoint& source, const StateChoice& isNeeded)
{
    for (const FlatUnit& unit : source.units) {
        for (const UnitState& state : unit.states) {
            if (!isNeeded(unit, state))
                continue;
            for (size_t at = 0; at < state.perParam.size(); ++at) {
                const Parameter& param = source.params[index(unit.params[at])];
                if (!state.perParam[at].isPresent() && param.elements > 0)
                    return fail(ErrorCode::Refused,
                        "state `" + state.name + "` of parameter `" + toValidUtf8(param.name)
                            + "` is missing, so it cannot be copied",
                        source.tagFolder.string());
            }
            for (const StoredRun& run : state.boxes ? state.boxes->runs : std::vector<StoredRun>()) {
                if (!run.isPresent())
                    return fail(ErrorCode::Refused,
                        "a box of state `" + state.name + "` of parameter `"
                            + toValidUtf8(source.params[index(unit.params.front())].name)
                            + "` is missing, so it cannot be copied",
                        source.tagFolder.string());
            }
            for (uint32_t rank = 0; rank < state.perRank.size(); ++rank) {
                if (state.perRank[rank].isPresent() || unit.partition.partitionElements() == 0)
                    continue;
                const std::string name
                    = unit.params.empty() ? "" : source.params[index(unit.params.front())].name;
                return fail(ErrorCode::Refused,
                    "state `" + state.name + "` is missing on rank " + std::to_string(rank)
                        + " (first parameter `" + toValidUtf8(name) + "`), so it cannot be copied",
                    source.tagFolder.string());
            }
        }
    }
    return {};
}

} // namespace shardscope
