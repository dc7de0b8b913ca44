// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/layout/address.h"
#include "core/plan/repair/amended.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Records of a file with unreliable bytes, by index.
std::set<uint32_t> damagedRecords(
    const TorchFile& file, const std::string& name, const std::vector<const Finding*>& findings)
{
    std::set<uint32_t> out;
    const auto& records = file.zip().records();
    for (uint32_t i = 0; i < records.size(); ++i) {
        if (records[i].damaged)
            out.insert(i);
    }
    for (const Finding* finding : findings) {
        const FileAddress* place = finding->where.bytes();
        if (place == nullptr || place->path != name || place->record.empty())
            continue;
        if (const auto record = file.zip().find(place->record))
            out.insert(static_cast<uint32_t>(*record));
    }
    return out;
}

/// Whether the record has only a storage's elements. The file can be read without such a record.
bool isOfStorage(const TorchFile& file, uint32_t record)
{
    const auto storages = file.storagesInOrder();
    return std::any_of(storages.begin(), storages.end(), [&](const StorageView& storage) {
        const auto at = file.zip().find("data/" + std::string(storage.key));
        return at && *at == record;
    });
}

/// Settles every finding about the content of a rank's file, which is now lost.
void settleFile(Amended& amended, const std::string& name)
{
    std::erase_if(amended.findings(), [&](const Finding& other) {
        return other.where.file() == name
            && (other.code == code::kRecordCorrupt || other.code == code::kRecordMissing
                || other.code == code::kTensorInvalid);
    });
}

/// Counts states as lost that other ranks have and a rank's file does not.
void loseAbsent(Amended& amended, uint32_t rank, std::string_view code)
{
    const Checkpoint& out = *amended.checkpoint;
    for (uint32_t u = 0; u < out.units.size(); ++u) {
        const FlatUnit& unit = out.units[u];
        const auto share = unit.isFlat() ? unit.partitionRankOf(rank) : std::nullopt;
        for (uint32_t s = 0; share && s < unit.states.size(); ++s) {
            const UnitState& state = unit.states[s];
            if (*share < state.perRank.size() && !state.perRank[*share].isPresent())
                loseShare(amended, UnitId{u}, s, *share, code);
        }
    }
}

} // namespace

Status takeOtherRecords(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        if (amended.remadeModels.contains(finding->where.file())) {
            amended.settle(*finding);
            continue;
        }
        const auto id = fileNamed(*amended.source, finding->where);
        const TorchFile* content = id ? amended.source->file(*id).content.get() : nullptr;
        if (content != nullptr && amended.source->file(*id).role == FileRole::ModelStates) {
            const std::string& name = amended.source->file(*id).name;
            SHARDSCOPE_CHECK(loseWeightsIn(amended, *finding, *id, damagedRecords(*content, name, findings)));
            amended.repair(*finding, "the record's values are rebuilt from the masters: " + finding->message);
            settleFile(amended, name);
            continue;
        }
        SHARDSCOPE_TRY(const uint32_t rank, lostRankOf(amended, *finding));
        if (amended.lostRanks.contains(rank)) {
            amended.settle(*finding);
            continue;
        }
        if (content == nullptr) {
            SHARDSCOPE_CHECK(giveUpShard(amended, *finding));
            continue;
        }
        const std::string& name = amended.source->file(*id).name;
        const std::set<uint32_t> damaged = damagedRecords(*content, name, findings);
        const bool onlyStorages = std::all_of(
            damaged.begin(), damaged.end(), [&](uint32_t record) { return isOfStorage(*content, record); });
        if (!onlyStorages) {
            SHARDSCOPE_CHECK(giveUpShard(amended, *finding));
            continue;
        }
        for (FlatUnit& unit : amended.checkpoint->units) {
            for (UnitState& state : unit.states) {
                for (StoredRun& run : state.perRank) {
                    if (run.file == *id && damaged.contains(run.record))
                        run = {};
                }
            }
        }
        loseAbsent(amended, rank, finding->code);
        amended.repair(*finding, "the record's values are rebuilt: " + finding->message);
        settleFile(amended, name);
    }
    return {};
}

Status takeOtherSwapped(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        const auto rank = rankOfAddress(*amended.source, finding->where);
        if (!rank)
            return cannotRepair(amended, *finding, "it does not record which parameters lost their states");
        loseAbsent(amended, *rank, finding->code);
        amended.repair(*finding, "rebuilt, as an ordinary shard: " + finding->message);
    }
    return {};
}

Status takeOtherThanSwapped(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        const FlatAddress* flat = finding->where.flat();
        if (flat == nullptr || !flat->subgroup)
            return cannotRepair(amended, *finding,
                "it is about the whole folder, which is of another step; name the one that was saved");
        const Checkpoint& source = *amended.source;
        for (uint32_t u = 0; u < source.units.size(); ++u) {
            const FlatUnit& unit = source.units[u];
            const auto share = unit.subgroup == flat->group ? source.shareOf(unit, flat->rank) : std::nullopt;
            // If one moment belongs to another tensor, the other one may, too.
            for (uint32_t s = 0; share && s < unit.states.size(); ++s) {
                if (unit.states[s].name != "fp32")
                    loseShare(amended, UnitId{u}, s, *share, finding->code);
            }
        }
        amended.repair(*finding, "rebuilt, as an ordinary shard: " + finding->message);
    }
    return {};
}

Status takeOtherStates(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        SHARDSCOPE_TRY(const uint32_t rank, lostRankOf(amended, *finding));
        loseAbsent(amended, rank, finding->code);
        amended.repair(*finding, "rebuilt: " + finding->message);
    }
    return {};
}

} // namespace shardscope
