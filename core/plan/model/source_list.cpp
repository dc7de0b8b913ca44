// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/source_list.h"

#include "core/base/sha256.h"
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
    Status out;
    state.visitRuns([&](const MappedRun& mapped) {
        out = add(mapped.run.file);
        return out.has_value();
    });
    return out;
}

std::string identityText(const std::vector<PlanSource>& sources)
{
    std::string out;
    for (const PlanSource& source : sources)
        out += source.name + "|" + std::to_string(source.identity.bytes) + "|"
            + std::to_string(source.identity.modifiedNs) + "\n";
    return out;
}

std::string recordsDigest(const PlanSource& source)
{
    Sha256 sha;
    for (const ZipRecord& record : source.records) {
        const std::string line = percentEncode(record.name) + ' ' + std::to_string(record.payloadOffset) + ' '
            + std::to_string(record.bytes) + ' ' + std::to_string(record.crcPresent ? record.crc32 : 0)
            + '\n';
        sha.update({reinterpret_cast<const uint8_t*>(line.data()), line.size()});
    }
    return sha.finishHex();
}

namespace {

/// The same of a unit whose parameters are tensors of their own.
Status requireTensors(const Checkpoint& source, const FlatUnit& unit, const UnitState& state)
{
    Status out;
    state.visitRuns([&](const MappedRun& mapped) {
        if (mapped.run.isPresent() || !mapped.param)
            return true;
        const Parameter& param = source.params[index(unit.params[*mapped.param])];
        if (mapped.box == nullptr && param.elements == 0)
            return true;
        out = fail(ErrorCode::Refused,
            (mapped.box != nullptr ? "a box of state `" : "state `") + state.name + "` of parameter `"
                + toValidUtf8(param.name) + "` is missing, so it cannot be copied",
            source.tagFolder.string());
        return false;
    });
    return out;
}

} // namespace

Status requireRuns(const Checkpoint& source, const StateChoice& isNeeded)
{
    for (const FlatUnit& unit : source.units) {
        for (const UnitState& state : unit.states) {
            if (!isNeeded(unit, state))
                continue;
            if (unit.kind == UnitKind::Whole)
                SHARDSCOPE_CHECK(requireTensors(source, unit, state));
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
