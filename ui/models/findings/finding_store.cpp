// SPDX-License-Identifier: Apache-2.0
#include "ui/models/findings/finding_store.h"

#include "ui/jobs/check_run.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

bool isSame(const Finding& a, const Finding& b)
{
    return a.code == b.code && a.where == b.where && a.message == b.message;
}

} // namespace

FindingStore::FindingStore(CheckRun& run, QObject* parent)
    : QObject(parent)
    , m_run(run)
{
    connect(&run, &CheckRun::changed, this, &FindingStore::changed);
}

bool FindingStore::isChecked(const Checkpoint& checkpoint) const
{
    const auto& result = m_run.result();
    if (result && result->checkpoint)
        return result->checkpoint->tagFolder == checkpoint.tagFolder;
    return !m_run.place().tagFolder.empty() && m_run.place().tagFolder == checkpoint.tagFolder;
}

std::vector<DoctorFinding> FindingStore::detailed(const Checkpoint& checkpoint) const
{
    const bool checked = isChecked(checkpoint);
    if (checked && m_run.result())
        return m_run.result()->findings;
    std::vector<DoctorFinding> out;
    if (checked)
        out = m_run.findings();
    for (const Finding& finding : checkpoint.findings) {
        const bool known = std::any_of(out.begin(), out.end(),
            [&](const DoctorFinding& other) { return isSame(other.finding, finding); });
        if (!known)
            out.push_back({finding, &diagnosisOf(finding.code), {}, CheckDepth::Metadata});
    }
    return out;
}

std::vector<Finding> FindingStore::of(const Checkpoint& checkpoint) const
{
    std::vector<Finding> out;
    for (DoctorFinding& made : detailed(checkpoint))
        out.push_back(std::move(made.finding));
    return out;
}

bool areSame(const std::vector<Finding>& a, const std::vector<Finding>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), isSame);
}

std::array<size_t, 3> countBySeverity(const std::vector<DoctorFinding>& findings)
{
    std::array<size_t, 3> counts{};
    for (const DoctorFinding& made : findings)
        ++counts[static_cast<size_t>(made.finding.severity)];
    return counts;
}

} // namespace shardscope::ui
