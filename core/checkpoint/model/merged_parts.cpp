// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/merged_parts.h"

#include <functional>
#include <map>

namespace shardscope {

namespace {

class Models
{
public:
    explicit Models(Checkpoint& out)
        : m_out(out)
    {
    }

    void add()
    {
        countNames();
        for (uint32_t part = 0; part < m_out.parts.size(); ++part)
            addPart(*m_out.parts[part], part);
    }

private:
    /// Which axes distinguish the parts that have a parameter of the same name.
    struct Holders {
        RankCoordinate first;
        uint32_t count = 0;
        bool severalTp = false;
        bool severalPp = false;
    };
    void countNames()
    {
        for (const auto& part : m_out.parts) {
            for (const Parameter& param : part->params) {
                Holders& holders = m_holders[param.name];
                if (holders.count++ == 0)
                    holders.first = part->place;
                holders.severalTp = holders.severalTp || part->place.tp != holders.first.tp;
                holders.severalPp = holders.severalPp || part->place.pp != holders.first.pp;
            }
        }
    }

    [[nodiscard]] std::string nameOf(const std::string& name, const RankCoordinate& place) const
    {
        const Holders& holders = m_holders.find(name)->second;
        if (holders.count < 2)
            return name;
        std::string suffix = holders.severalTp ? "tp" + std::to_string(place.tp) : std::string();
        if (holders.severalPp)
            suffix += (suffix.empty() ? "pp" : ".pp") + std::to_string(place.pp);
        return name + ":" + suffix;
    }

    void addPart(const Checkpoint& from, uint32_t part)
    {
        const auto firstParam = static_cast<uint32_t>(m_out.params.size());
        const auto firstUnit = static_cast<uint32_t>(m_out.units.size());
        for (Parameter param : from.params) {
            param.name = nameOf(param.name, from.place);
            param.unit = param.unit == kNoUnit ? kNoUnit : UnitId{index(param.unit) + firstUnit};
            param.sharedWith
                = param.sharedWith == kNoParam ? kNoParam : ParamId{index(param.sharedWith) + firstParam};
            m_out.paramByName.emplace(param.name, ParamId{static_cast<uint32_t>(m_out.params.size())});
            m_out.params.push_back(std::move(param));
        }
        for (FlatUnit unit : from.units) {
            unit.part = part;
            for (ParamId& param : unit.params)
                param = ParamId{index(param) + firstParam};
            if (part > 0)
                unit.stateNode = kNoNode; // in another file than rank 0's
            m_out.units.push_back(std::move(unit));
        }
        for (WholeTensor tensor : from.whole) {
            tensor.param = ParamId{index(tensor.param) + firstParam};
            m_out.whole.push_back(std::move(tensor));
        }
        for (const ParamGroup& group : from.groups)
            addGroup(group, part, firstUnit);
    }

    void addGroup(const ParamGroup& from, uint32_t part, uint32_t firstUnit)
    {
        while (m_out.groups.size() <= from.index)
            m_out.groups.push_back({static_cast<uint32_t>(m_out.groups.size()), {}, 0, 0, kNoNode});
        ParamGroup& group = m_out.groups[from.index];
        for (const UnitId unit : from.units)
            group.units.push_back(UnitId{index(unit) + firstUnit});
        group.parameters += from.parameters;
        group.elements += from.elements;
        if (part == 0)
            group.options = from.options;
    }

    Checkpoint& m_out;
    std::map<std::string, Holders, std::less<>> m_holders;
};

} // namespace

void addModelsOfParts(Checkpoint& out)
{
    Models(out).add();
}

} // namespace shardscope
