// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/diagnosis.h"

#include "core/doctor/diagnosis_tables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 4> kDepthNames{"names", "headers", "metadata", "bytes"};

bool sameLetters(char a, char b)
{
    return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
}

} // namespace

std::string_view checkDepthName(CheckDepth depth)
{
    return kDepthNames[static_cast<size_t>(depth)];
}

std::optional<CheckDepth> parseCheckDepth(std::string_view name)
{
    const auto* const found = std::find(kDepthNames.begin(), kDepthNames.end(), name);
    if (found == kDepthNames.end())
        return std::nullopt;
    return static_cast<CheckDepth>(found - kDepthNames.begin());
}

std::span<const Diagnosis* const> diagnoses()
{
    static const std::vector<const Diagnosis*> kAll = [] {
        std::vector<const Diagnosis*> all;
        for (const auto& table : {filesDiagnoses(), locationDiagnoses(), parametersDiagnoses(),
                 stateDiagnoses(), targetsDiagnoses(), trainingDiagnoses(), valuesDiagnoses()}) {
            for (const Diagnosis& diagnosis : table)
                all.push_back(&diagnosis);
        }
        std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->code < b->code; });
        return all;
    }();
    return kAll;
}

const Diagnosis* findDiagnosis(std::string_view code)
{
    for (const Diagnosis* diagnosis : diagnoses()) {
        if (diagnosis->code == code)
            return diagnosis;
    }
    return nullptr;
}

const Diagnosis& diagnosisOf(std::string_view code)
{
    const Diagnosis* found = findDiagnosis(code);
    return found != nullptr ? *found : *findDiagnosis("not-examined");
}

bool repairs(const Diagnosis& diagnosis, const Finding& finding)
{
    return diagnosis.repairs && finding.severity >= diagnosis.repairsFrom;
}

bool isNamedBy(const Diagnosis& diagnosis, std::string_view word)
{
    return diagnosis.code == word
        || (!diagnosis.letter.empty() && diagnosis.letter.size() == word.size()
            && std::equal(word.begin(), word.end(), diagnosis.letter.begin(), sameLetters));
}

} // namespace shardscope
