// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/expert_degree.h"

#include "core/base/text.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/partition/round_robin.h"
#include "core/plan/target/fused_degree.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

/// The experts of one module in groups that belong together.
struct Module {
    std::string_view before; ///< ExpertName::before
    std::vector<std::string_view> after; ///< an expert's parameters, in order
    std::vector<std::vector<ParamId>> experts; ///< by number, then as `after`
};

class Regrouping
{
public:
    Regrouping(const Checkpoint& source, uint32_t ranks)
        : m_source(source)
        , m_graph(source.file(source.templateOptim).content->pickle())
        , m_ranks(ranks)
    {
    }

    Result<std::vector<TargetGroup>> run()
    {
        for (const Parameter& param : m_source.params) {
            if (param.role == ParamRole::Frozen && parseExpertName(param.name))
                return unsupported("`" + toValidUtf8(param.name)
                    + "` is frozen, and frozen experts keep their expert-parallel rank");
        }
        std::vector<TargetGroup> out;
        for (size_t g = 0; g < m_source.groups.size();) {
            if (!isOfExperts(m_source.groups[g])) {
                out.push_back({static_cast<uint32_t>(g++), {}});
                continue;
            }
            size_t end = g + 1;
            for (; end < m_source.groups.size() && isAlike(end); ++end) {
                if (isSplitElsewhere(end))
                    return unsupported("its param groups of experts are split where DeepSpeed splits none");
                if (!didNotFit(end))
                    break;
            }
            SHARDSCOPE_CHECK(addExperts(g, end, out));
            g = end;
        }
        return out;
    }

private:
    [[nodiscard]] tl::unexpected<Error> unsupported(std::string what) const
    {
        return fail(ErrorCode::Unsupported, std::move(what), m_source.tagFolder.string(), Hint::omit("--ep"));
    }

    [[nodiscard]] const FlatUnit& firstUnit(size_t g) const
    {
        return m_source.units[index(m_source.groups[g].units.front())];
    }

    [[nodiscard]] bool isOfExperts(const ParamGroup& group) const
    {
        return !group.units.empty() && !firstUnit(group.index).params.empty()
            && parseExpertName(m_source.params[index(firstUnit(group.index).params.front())].name);
    }

    /// Whether a group of experts has the options of the one before it.
    [[nodiscard]] bool isAlike(size_t g) const
    {
        if (!isOfExperts(m_source.groups[g]))
            return false;
        const auto options = [&](size_t group) {
            std::map<std::string, std::string> out;
            const auto items = mappingItems(m_graph, m_source.groups[group].options);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const auto key = asString(m_graph, items[i]);
                if (key && *key != "params")
                    out.emplace(*key, nodeText(m_graph, items[i + 1]));
            }
            return out;
        };
        return options(g - 1) == options(g);
    }
    [[nodiscard]] bool didNotFit(size_t g) const
    {
        const uint64_t before = firstUnit(g - 1).partition.payloadElements();
        const ParamId first = firstUnit(g).params.front();
        return before + m_source.params[index(first)].elements > kMaxExpertElements;
    }
    /// Alike in options, and of the same kind of parameter: split by another limit than DeepSpeed's own.
    [[nodiscard]] bool isSplitElsewhere(size_t g) const
    {
        const auto after = [&](size_t group) {
            const Parameter& param = m_source.params[index(firstUnit(group).params.front())];
            return parseExpertName(param.name)->after;
        };
        return !didNotFit(g) && after(g - 1) == after(g);
    }

    /// In the optimizer's order: under round_robin_gradients it is another one.
    [[nodiscard]] std::vector<ParamId> paramsOf(const FlatUnit& unit) const
    {
        if (!m_source.roundRobin)
            return unit.params;
        std::vector<ParamId> out;
        for (const uint32_t place :
            roundRobinMoves(static_cast<uint32_t>(unit.params.size()), unit.partition.ranks(), 1))
            out.push_back(unit.params[place]);
        return out;
    }

    Status addExperts(size_t begin, size_t end, std::vector<TargetGroup>& out)
    {
        const size_t families = m_source.groups[begin].units.size();
        if (families != m_source.parallel.ep)
            return unsupported("its layers have experts at different expert-parallel degrees");
        std::vector<Module> modules;
        m_known.clear();
        for (size_t family = 0; family < families; ++family) {
            std::vector<ParamId> params;
            for (size_t g = begin; g < end; ++g) {
                const auto more = paramsOf(m_source.units[index(m_source.groups[g].units[family])]);
                params.insert(params.end(), more.begin(), more.end());
            }
            SHARDSCOPE_CHECK(addFamily(params, modules));
        }
        std::vector<TargetGroup> groups;
        for (uint32_t rank = 0; rank < m_ranks; ++rank)
            SHARDSCOPE_CHECK(addRank(modules, static_cast<uint32_t>(begin), rank, groups));
        std::move(groups.begin(), groups.end(), std::back_inserter(out));
        return {};
    }

    /// One rank's experts: module after module, expert after expert, alike in all.
    Status addFamily(const std::vector<ParamId>& params, std::vector<Module>& modules)
    {
        const bool first = modules.empty();
        size_t module = 0;
        size_t inExpert = 0;
        std::optional<uint32_t> expert; // that `inExpert` counts in
        const auto odd = [&] {
            return unsupported("its experts are not in the order of the model's modules, with the experts of "
                               "each module one after another");
        };
        for (const ParamId id : params) {
            const auto name = parseExpertName(m_source.params[index(id)].name);
            if (!name)
                return unsupported("a param group holds experts and other parameters");
            if (!expert || modules[module].before != name->before) {
                module = expert ? module + 1 : 0;
                expert.reset();
                inExpert = 0;
                if (first && !m_known.insert(name->before).second)
                    return odd();
                if (first)
                    modules.push_back({name->before, {}, {}});
                else if (module >= modules.size() || modules[module].before != name->before)
                    return odd();
            }
            Module& of = modules[module];
            if (expert != name->number) {
                if (name->number != of.experts.size()
                    || (!of.experts.empty() && of.experts.back().size() != of.after.size()))
                    return odd();
                expert = name->number;
                inExpert = 0;
                of.experts.emplace_back();
            }
            if (first && name->number == 0)
                of.after.push_back(name->after);
            else if (inExpert >= of.after.size() || of.after[inExpert] != name->after)
                return odd();
            ++inExpert;
            of.experts.back().push_back(id);
        }
        if (module + 1 != modules.size())
            return odd();
        return {};
    }

    /// The experts of one new rank, in as many groups as DeepSpeed makes of them.
    Status addRank(const std::vector<Module>& modules, uint32_t source, uint32_t rank,
        std::vector<TargetGroup>& groups) const
    {
        size_t group = 0;
        uint64_t elements = 0;
        for (const Module& module : modules) {
            const size_t count = module.experts.size();
            if (count % m_ranks != 0)
                return fail(ErrorCode::Usage,
                    "the " + std::to_string(count) + " experts of `"
                        + toValidUtf8(module.before.substr(0, module.before.find(".deepspeed_moe")))
                        + "` do not divide by " + std::to_string(m_ranks) + " expert-parallel ranks",
                    m_source.tagFolder.string(), "choose --ep with a divisor of every layer's experts");
            const size_t local = count / m_ranks;
            for (size_t expert = rank * local; expert < (rank + 1) * local; ++expert) {
                if (module.experts[expert].size() != module.after.size())
                    return unsupported("its experts do not all have the same parameters");
                for (const ParamId param : module.experts[expert]) {
                    const uint64_t size = m_source.params[index(param)].elements;
                    if (elements + size > kMaxExpertElements && elements > 0) {
                        ++group;
                        elements = 0;
                    }
                    elements += size;
                    if (groups.size() <= group)
                        groups.push_back({source, {}});
                    groups[group].families.resize(m_ranks);
                    groups[group].families[rank].push_back(param);
                }
            }
        }
        return {};
    }

    const Checkpoint& m_source;
    const PickleGraph& m_graph;
    uint32_t m_ranks;
    std::set<std::string_view> m_known; ///< modules of one run of groups
};

} // namespace

bool hasExperts(const Checkpoint& source)
{
    return !FusedExperts::of(source).isEmpty()
        || std::any_of(source.params.begin(), source.params.end(), [](const Parameter& param) {
               return param.role == ParamRole::Trainable && parseExpertName(param.name).has_value();
           });
}

Result<std::vector<TargetGroup>> groupsForExpertDegree(const Checkpoint& source, uint32_t ranks)
{
    if (!FusedExperts::of(source).isEmpty())
        return groupsForFusedDegree(source, ranks);
    return Regrouping(source, ranks).run();
}

} // namespace shardscope
