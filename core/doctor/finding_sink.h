// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/diagnosis.h"

#include <functional>
#include <utility>
#include <vector>

namespace shardscope {

/// Collects the findings of one diagnosis. Not thread-safe: each diagnosis has its own.
class FindingSink
{
public:
    /// Further findings of one diagnosis are only counted.
    static constexpr size_t kMax = 200;

    explicit FindingSink(const Diagnosis& diagnosis)
        : m_diagnosis(diagnosis)
    {
    }

    /// Parameters as the members of Finding.
    void add(Severity severity, std::string message, Place where = {}, std::vector<std::string> evidence = {},
        std::vector<std::string> folders = {})
    {
        if (++m_count <= kMax)
            m_findings.push_back({m_diagnosis.code, severity, std::move(message), std::move(where),
                std::move(evidence), std::move(folders)});
    }
    /// The exact places of the finding that was added last.
    void setParts(std::vector<Place> parts)
    {
        if (m_count <= kMax)
            m_findings.back().parts = std::move(parts);
    }

    /// The findings, and a last one with the number of those that were not kept.
    [[nodiscard]] std::vector<Finding> take()
    {
        if (m_count > kMax)
            m_findings.push_back({m_diagnosis.code, m_findings.front().severity,
                "and " + std::to_string(m_count - kMax) + " more of them", {}, {}});
        m_count = 0;
        return std::exchange(m_findings, {});
    }

private:
    const Diagnosis& m_diagnosis;
    std::vector<Finding> m_findings;
    size_t m_count = 0;
};

} // namespace shardscope
