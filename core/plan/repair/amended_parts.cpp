// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/amended_parts.h"

#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/merged_parts.h"
#include "core/layout/address.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Whether a finding is about the files of a slice or stage.
bool speaksOf(const Amended& part, const Finding& finding)
{
    const Checkpoint& source = *part.source;
    if (const FlatAddress* flat = finding.where.flat())
        return flat->rank.tp == source.place.tp && flat->rank.pp == source.place.pp;
    const auto file = parseCheckpointFileName(finding.where.file());
    if (file && (file->role == FileRole::OptimStates || file->role == FileRole::ModelStates))
        return file->mp == source.modelRank;
    return part.stateAt(finding.where).has_value();
}

void finishEdits(Amended& amended)
{
    for (auto& [file, edit] : amended.edits)
        edit.finish(*amended.checkpoint);
}

} // namespace

AmendedParts::AmendedParts(Amended& whole)
    : m_whole(whole)
{
    uint32_t firstParam = 0;
    for (const auto& part : whole.source->parts) {
        m_parts.push_back(std::make_unique<Amended>(Amended{
            .files = whole.files,
            .job = whole.job,
            .options = whole.options,
            .open = whole.open,
            .source = part,
            .checkpoint = std::make_shared<Checkpoint>(*part),
            .whole = &whole,
            .firstParam = firstParam,
        }));
        whole.parts.push_back(m_parts.back().get());
        firstParam += static_cast<uint32_t>(part->params.size());
    }
}

/// Findings without a place are about all parts.
std::vector<Amended*> AmendedParts::spokenOf(const Finding& finding)
{
    std::vector<Amended*> out;
    for (const auto& part : m_parts) {
        if (finding.where.isEmpty() || speaksOf(*part, finding))
            out.push_back(part.get());
    }
    return out;
}

Status AmendedParts::apply(const RepairFix& fix, const std::vector<const Finding*>& findings)
{
    if (m_parts.empty() || fix.reach == RepairFix::Reach::Whole)
        return fix.apply(m_whole, findings);
    std::vector<std::vector<const Finding*>> perPart(m_parts.size());
    for (const Finding* finding : findings) {
        const std::vector<Amended*> spoken = spokenOf(*finding);
        const auto parsed = parseCheckpointFileName(finding->where.file());
        if (parsed && parsed->role == FileRole::LayerStates)
            return cannotRepair(m_whole, *finding, "files of layers are not rebuilt");
        const bool each = fix.reach == RepairFix::Reach::Each;
        if (!each && (spoken.empty() || (spoken.size() > 1 && !finding->where.isEmpty())))
            return cannotRepair(
                m_whole, *finding, "it does not belong to a single tensor slice or pipeline stage");
        for (size_t i = 0; i < m_parts.size(); ++i) {
            if (each || std::find(spoken.begin(), spoken.end(), m_parts[i].get()) != spoken.end())
                perPart[i].push_back(finding);
        }
    }
    for (size_t i = 0; i < m_parts.size(); ++i) {
        if (!perPart[i].empty())
            SHARDSCOPE_CHECK(fix.apply(*m_parts[i], perPart[i]));
    }
    return {};
}

Status AmendedParts::set(const std::vector<std::string>& values)
{
    if (m_parts.empty())
        return setValues(m_whole, values);
    for (const auto& part : m_parts)
        SHARDSCOPE_CHECK(setValues(*part, values));
    return {};
}

Status AmendedParts::finish()
{
    if (m_parts.empty()) {
        SHARDSCOPE_CHECK(refillLost(m_whole));
        finishEdits(m_whole);
        return {};
    }
    for (const auto& part : m_parts) {
        SHARDSCOPE_CHECK(refillLost(*part));
        finishEdits(*part);
    }
    merge();
    return {};
}

/// Merges the parts in the same way as a reader.
void AmendedParts::merge()
{
    Checkpoint& out = *m_whole.checkpoint;
    const Checkpoint& first = *m_parts.front()->checkpoint;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        for (const auto& [file, edit] : m_parts[i]->edits)
            out.files[index(file)].content = m_parts[i]->checkpoint->file(file).content;
        out.parts[i] = m_parts[i]->checkpoint;
    }
    out.steps = first.steps;
    out.lossScale = first.lossScale;
    out.optimWrapper = first.optimWrapper;
    out.optimFiles = first.optimFiles;
    out.params.clear();
    out.units.clear();
    out.whole.clear();
    out.groups.clear();
    out.paramByName.clear();
    addModelsOfParts(out);
    std::sort(out.whole.begin(), out.whole.end(),
        [](const WholeTensor& a, const WholeTensor& b) { return a.param < b.param; });
}

std::vector<std::shared_ptr<Refills>> AmendedParts::refills() const
{
    std::vector<std::shared_ptr<Refills>> out;
    for (const auto& part : m_parts)
        out.push_back(part->refills);
    if (m_parts.empty())
        out.push_back(m_whole.refills);
    return out;
}

std::vector<const Amended*> AmendedParts::all() const
{
    std::vector<const Amended*> out{&m_whole};
    for (const auto& part : m_parts)
        out.push_back(part.get());
    return out;
}

} // namespace shardscope
