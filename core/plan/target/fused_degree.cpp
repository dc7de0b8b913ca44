// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/fused_degree.h"

#include "core/base/text.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

/// One fused tensor: the same experts' parameter of all ranks.
struct FusedTensor {
    std::string_view name;
    std::vector<ParamId> experts; ///< by number
    uint64_t expertElements = 0;
};

class FusedRegrouping
{
public:
    FusedRegrouping(const Checkpoint& source, uint32_t ranks)
        : m_source(source)
        , m_graph(source.file(source.templateOptim).content->pickle())
        , m_fused(FusedExperts::of(source))
        , m_ranks(ranks)
    {
    }

    Result<std::vector<TargetGroup>> run()
    {
        std::vector<TargetGroup> out;
        for (uint32_t g = 0; g < m_source.groups.size();) {
            if (!isOfExperts(g)) {
                out.push_back({g++, {}});
                continue;
            }
            SHARDSCOPE_TRY(std::vector<FusedTensor> tensors, tensorsOf(g));
            uint32_t end = g + 1;
            for (; end < m_source.groups.size() && isSplitFrom(end); ++end) {
                SHARDSCOPE_TRY(const auto more, tensorsOf(end));
                tensors.insert(tensors.end(), more.begin(), more.end());
            }
            SHARDSCOPE_CHECK(addGroups(tensors, g, out));
            g = end;
        }
        return out;
    }

private:
    [[nodiscard]] const FlatUnit& firstUnit(uint32_t g) const
    {
        return m_source.units[index(m_source.groups[g].units.front())];
    }
    [[nodiscard]] std::string_view fusedNameAt(uint32_t g, size_t at) const
    {
        return m_fused.fusedNameOf(m_source.params[index(firstUnit(g).params[at])].name);
    }
    [[nodiscard]] bool isOfExperts(uint32_t g) const
    {
        return !m_source.groups[g].units.empty() && !firstUnit(g).params.empty()
            && !fusedNameAt(g, 0).empty();
    }

    /// Whether a group of experts became one of its own because the one before it was full.
    [[nodiscard]] bool isSplitFrom(uint32_t g) const
    {
        if (!isOfExperts(g) || optionsText(g - 1) != optionsText(g))
            return false;
        const uint64_t first = m_source.params[index(firstUnit(g).params.front())].elements
            * m_fused.layerOf(fusedNameAt(g, 0))->localExperts;
        return firstUnit(g - 1).partition.payloadElements() + first > kMaxExpertElements;
    }
    [[nodiscard]] std::string optionsText(uint32_t g) const
    {
        std::string out;
        const auto items = mappingItems(m_graph, m_source.groups[g].options);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (asString(m_graph, items[i]) != "params")
                out += nodeText(m_graph, items[i]) + "=" + nodeText(m_graph, items[i + 1]) + "\n";
        }
        return out;
    }

    /// In the order of the optimizer, which is the same on all ranks.
    Result<std::vector<FusedTensor>> tensorsOf(uint32_t g) const
    {
        std::vector<FusedTensor> out;
        const FlatUnit& unit = firstUnit(g);
        for (size_t at = 0; at < unit.params.size(); ++at) {
            const std::string_view name = fusedNameAt(g, at);
            if (!out.empty() && out.back().name == name)
                continue;
            const FusedLayer* layer = m_fused.layerOf(name);
            if (layer == nullptr)
                return fail(ErrorCode::Unsupported, "a param group holds experts and other parameters",
                    m_source.tagFolder.string(), Hint::omit("--ep"));
            FusedTensor tensor{name, {}, m_source.params[index(unit.params[at])].elements};
            for (uint32_t expert = 0; expert < layer->localExperts * layer->ranks; ++expert) {
                const auto param = m_source.findParam(std::string(name) + "." + std::to_string(expert));
                if (!param)
                    return fail(ErrorCode::Damaged,
                        "expert " + std::to_string(expert) + " of `" + toValidUtf8(name) + "` is missing",
                        m_source.tagFolder.string());
                tensor.experts.push_back(*param);
            }
            out.push_back(std::move(tensor));
        }
        return out;
    }

    Status addGroups(
        const std::vector<FusedTensor>& tensors, uint32_t source, std::vector<TargetGroup>& out) const
    {
        uint64_t elements = 0; // of one rank, in the last group
        for (const FusedTensor& tensor : tensors) {
            const size_t count = tensor.experts.size();
            if (count % m_ranks != 0)
                return fail(ErrorCode::Usage,
                    "the " + std::to_string(count) + " experts of `" + toValidUtf8(tensor.name)
                        + "` do not divide by " + std::to_string(m_ranks) + " expert-parallel ranks",
                    m_source.tagFolder.string(), "choose --ep with a divisor of every layer's experts");
            const size_t local = count / m_ranks;
            const uint64_t size = local * tensor.expertElements;
            if (elements == 0 || elements + size > kMaxExpertElements) {
                out.push_back({source, std::vector<std::vector<ParamId>>(m_ranks)});
                elements = 0;
            }
            elements += size;
            for (uint32_t rank = 0; rank < m_ranks; ++rank) {
                const auto first = tensor.experts.begin() + static_cast<std::ptrdiff_t>(rank * local);
                auto& family = out.back().families[rank];
                family.insert(family.end(), first, first + static_cast<std::ptrdiff_t>(local));
            }
        }
        return {};
    }

    const Checkpoint& m_source;
    const PickleGraph& m_graph;
    FusedExperts m_fused;
    uint32_t m_ranks;
};

} // namespace

Result<std::vector<TargetGroup>> groupsForFusedDegree(const Checkpoint& source, uint32_t ranks)
{
    return FusedRegrouping(source, ranks).run();
}

} // namespace shardscope
