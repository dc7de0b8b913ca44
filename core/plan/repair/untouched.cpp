// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/untouched.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/file_names.h"
#include "core/doctor/split_folders.h"
#include "core/layout/address.h"
#include "core/plan/emit/old_forms.h"

#include <algorithm>

namespace shardscope {

Untouched::Untouched(const std::vector<const Amended*>& amended)
{
    for (const Amended* one : amended) {
        // Files of older releases are all rewritten in the current form.
        m_none = m_none || one->rewriteAll || !one->moved.empty() || hasOldForm(*one->source);
        for (const auto& [file, edit] : one->edits) {
            if (file == one->source->templateOptim) // this is the template of all others
                touchOptimizer(*one);
            else
                touchModel(*one);
        }
        if (one->model.differ())
            touchModel(*one);
        const bool setsSteps = std::any_of(one->checkpoint->units.begin(), one->checkpoint->units.end(),
            [](const FlatUnit& unit) { return unit.stepSet; });
        if (setsSteps)
            touchOptimizer(*one);
        for (const LostPart& part : one->lost)
            touchPlace(*one, part.where);
        for (const RepairChange& change : one->changes) {
            const bool isRenamed = change.code == code::kRankForeign && !change.reconstructed
                && one->open.exchanged.contains(change.where.file());
            const bool ofFolders = isRenamed || change.code == code::kLatestMissing
                || change.code == code::kLatestDangling || change.code == kSplitShards;
            if (!ofFolders)
                touchPlace(*one, change.where);
        }
    }
    // Stock DeepSpeed records places in another order than it stores data. This program does not. A mix of
    // both files would not fit together.
    for (const Amended* one : amended) {
        const bool anyOptimizer = std::any_of(m_touched.begin(), m_touched.end(), [](const auto& name) {
            const auto parsed = parseCheckpointFileName(name);
            return parsed && parsed->role == FileRole::OptimStates;
        });
        if (anyOptimizer && one->source->roundRobin)
            touchOptimizer(*one);
    }
}

void Untouched::touchOptimizer(const Amended& amended)
{
    for (const FileId file : amended.source->optimFiles) {
        if (file != kNoFile)
            m_touched.insert(amended.source->file(file).name);
    }
}

void Untouched::touchModel(const Amended& amended)
{
    for (const CheckpointFile& file : amended.source->files) {
        if (file.role != FileRole::OptimStates)
            m_touched.insert(file.name);
    }
}

void Untouched::touchPlace(const Amended& amended, const Place& where)
{
    if (const FlatAddress* flat = where.flat()) {
        for (const CheckpointFile& file : amended.source->files) {
            if (file.role == FileRole::OptimStates && file.rank == flat->rank)
                m_touched.insert(file.name);
        }
        return;
    }
    const ParamAddress* param = where.param();
    if (param != nullptr && param->state == "weight") // no optimizer file holds weights
        touchModel(amended);
    else if (param != nullptr || where.isEmpty())
        m_none = true; // any rank may hold some of it
    else
        m_touched.insert(where.file());
}

bool Untouched::contains(const std::string& name) const
{
    return !m_none && !m_touched.contains(name);
}

} // namespace shardscope
