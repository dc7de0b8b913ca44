// SPDX-License-Identifier: Apache-2.0
#include "ui/models/find/finder.h"

#include "core/checkpoint/model/layer_names.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "ui/models/address_selection.h"
#include "ui/models/parameters/fuzzy.h"
#include "ui/text/rank_list.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"

#include <QRegularExpression>

#include <algorithm>
#include <map>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kOfManyKinds = 8; ///< parameters next to other kinds
constexpr size_t kAlone = 60; ///< parameters, if nothing else was found
constexpr size_t kOfOthers = 6; ///< of each other kind
constexpr size_t kCommands = 40; ///< in the palette

struct Candidate {
    int score = 0;
    uint32_t position = 0;
    /// Better first, earlier ones first among equals.
    bool operator<(const Candidate& other) const
    {
        return score != other.score ? score > other.score : position < other.position;
    }
};

void keepBest(std::vector<Candidate>& candidates, size_t most)
{
    const size_t kept = std::min(candidates.size(), most);
    std::partial_sort(
        candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(kept), candidates.end());
    candidates.resize(kept);
}

/// The letters of a shown text that were typed; none where the text is shown in other letters than its bytes.
std::vector<qsizetype> lettersOf(const std::string& pattern, const QString& shown)
{
    const std::string text = loweredBytes(shown);
    if (static_cast<size_t>(shown.size()) != text.size())
        return {};
    const std::vector<size_t> letters = fuzzyLetters(pattern, text);
    return {letters.begin(), letters.end()};
}

size_t wordsIn(const std::string& pattern)
{
    return static_cast<size_t>(QString::fromStdString(pattern).split(u' ', Qt::SkipEmptyParts).size());
}

/// One search: collects hits.
class Search
{
public:
    Search(const FindQuery& query, const std::stop_token& token)
        : m_query(query)
        , m_token(token)
        , m_typed(query.typed.trimmed())
        , m_pattern(loweredBytes(m_typed))
    {
    }

    FindList run()
    {
        if (m_typed.startsWith(u'>')) {
            m_typed = m_typed.mid(1).trimmed();
            m_pattern = loweredBytes(m_typed);
            addCommands(true);
            return std::move(m_out);
        }
        const bool isTerm = addTerms();
        if (m_typed.isEmpty()) {
            addSaved();
            return std::move(m_out);
        }
        if (m_query.checkpoint) {
            addPlace();
            addOffsets();
            addRanks();
            addLayers();
            addElements();
            addFiles();
        }
        if (!isTerm) {
            addSaved();
            addCommands(false);
        }
        addParameters();
        std::stable_sort(m_out.hits.begin(), m_out.hits.end(), [&](const FindHit& a, const FindHit& b) {
            return orderOf(a.group, isTerm) < orderOf(b.group, isTerm);
        });
        return std::move(m_out);
    }

private:
    [[nodiscard]] int orderOf(FindGroup group, bool isTerm) const
    {
        constexpr int kLast = 100;
        if (group == FindGroup::Parameters && !m_isPart)
            return kLast; // letters here and there: less likely meant than what has the whole word
        return isTerm && group == FindGroup::Terms ? -1 : static_cast<int>(group);
    }

    void add(FindGroup group, const QString& text, const QString& detail, SelectedThing thing)
    {
        m_out.hits.push_back({.group = group,
            .text = text,
            .detail = detail,
            .letters = lettersOf(m_pattern, text),
            .thing = std::move(thing)});
    }

    /// Whether a term is being typed: a key with a relation.
    bool addTerms()
    {
        const QString word = m_query.typed.section(u' ', -1);
        const QString before = m_query.typed.left(m_query.typed.size() - word.size());
        static const QRegularExpression kTerm(u"^-?[a-z_]+(:|=|<|>)"_s);
        for (const FilterCompletion& completion : completionsOf(word, m_query.terms)) {
            FindHit hit{.group = FindGroup::Terms, .text = completion.word, .detail = completion.help};
            hit.letters = lettersOf(loweredBytes(word), completion.word);
            hit.typed = before % completion.word;
            m_out.hits.push_back(std::move(hit));
        }
        return kTerm.match(word).hasMatch();
    }

    void addSaved()
    {
        for (const QString& filter : m_query.saved) {
            if (!m_typed.isEmpty() && !filter.contains(m_typed, Qt::CaseInsensitive))
                continue;
            FindHit hit{.group = FindGroup::Saved, .text = filter};
            hit.letters = lettersOf(m_pattern, filter);
            hit.typed = filter;
            m_out.hits.push_back(std::move(hit));
        }
    }

    /// What the whole text names: an address in any spelling, a rank, a layer, a file.
    void addPlace()
    {
        auto found = selectionOf(*m_query.checkpoint, m_typed);
        static const QRegularExpression kAddress(u"[#!\\[]|\\+\\d|^(rank|dp|layer)\\s*\\d+$"_s);
        if (!found) {
            if (kAddress.match(m_typed.toLower()).hasMatch())
                m_out.problem = errorText(found.error());
            return;
        }
        const SelectedThing& thing = *found;
        const bool isPlain = !thing.element && !thing.block && !thing.byte;
        if (isPlain && (thing.rank || thing.file != kNoFile || thing.param != kNoParam)
            && !kAddress.match(m_typed.toLower()).hasMatch())
            return; // by its name, below
        static const QRegularExpression kOther(u"^(rank|dp|layer)\\s*\\d"_s);
        if (kOther.match(m_typed.toLower()).hasMatch() && !m_typed.contains(u'+'))
            return; // has a group of its own
        add(FindGroup::Places, m_typed, placeText(thing), thing);
        if (const auto address = parseAddress(m_typed.toStdString(), *m_query.checkpoint))
            m_out.hits.back().page = pageOf(*address);
    }

    static std::optional<PageId> pageOf(const Address& address)
    {
        if (std::holds_alternative<FlatAddress>(address))
            return PageId::Map;
        return std::holds_alternative<FileAddress>(address) ? std::optional(PageId::Files) : std::nullopt;
    }

    [[nodiscard]] QString placeText(const SelectedThing& thing) const
    {
        const Checkpoint& checkpoint = *m_query.checkpoint;
        QStringList parts;
        if (thing.param != kNoParam && thing.element)
            parts.append(u"element %1"_s.arg(countText(*thing.element)));
        if (thing.rank)
            parts.append(rankLabel(checkpoint, rankAt(checkpoint, *thing.rank)));
        if (thing.isPadding)
            parts.append(u"padding"_s);
        if (thing.file != kNoFile && thing.byte)
            parts.append(u"byte %1"_s.arg(countText(*thing.byte)));
        return parts.join(u" · "_s);
    }

    /// A number counts in what is selected: bytes of a file, elements of a parameter, of a rank's buffer.
    void addOffsets()
    {
        static const QRegularExpression kNumber(u"^[+@]?\\s*(0x[0-9a-f]+|[0-9][0-9,]*)$"_s);
        const auto match = kNumber.match(m_typed.toLower());
        if (!match.hasMatch())
            return;
        bool isNumber = false;
        const quint64 number = match.captured(1).remove(u',').toULongLong(&isNumber, 0);
        if (!isNumber)
            return;
        const Checkpoint& checkpoint = *m_query.checkpoint;
        const SelectedThing& in = m_query.selected;
        const auto offer = [&](const Address& address, const QString& what) {
            const QString text = QString::fromStdString(formatAddress(address));
            if (auto thing = selectionOf(checkpoint, text)) {
                add(FindGroup::Places, what.arg(countText(number)), toText(text.toStdString()), *thing);
                m_out.hits.back().page = pageOf(address);
            }
        };
        if (in.param != kNoParam) {
            const std::vector<std::string> states = statesOf(checkpoint, in.param);
            const Parameter& param = checkpoint.params[index(in.param)];
            if (number < param.elements && !states.empty())
                offer(ParamAddress{param.name, in.state.empty() ? states.front() : in.state,
                          std::pair<uint64_t, uint64_t>(number, number + 1)},
                    u"Element %1 of the selected parameter"_s);
        }
        if (in.rank && in.unit != kNoUnit && checkpoint.units[index(in.unit)].group >= 0) {
            const FlatUnit& unit = checkpoint.units[index(in.unit)];
            FlatAddress flat{.rank = rankAt(checkpoint, *in.rank)};
            flat.subgroup = unit.kind == UnitKind::SubGroup;
            flat.group = flat.subgroup ? unit.subgroup.value_or(0) : static_cast<uint32_t>(unit.group);
            flat.element = number;
            offer(flat, u"Element %1 of the rank's flat buffer"_s);
        }
        if (in.file != kNoFile)
            offer(FileAddress{.path = checkpoint.file(in.file).name, .byte = number},
                u"Byte %1 of the selected file"_s);
    }

    void addRanks()
    {
        static const QRegularExpression kRank(
            u"^(?:rank|r)\\s*(\\d*)$|^((?:(?:dp|tp|pp)\\s*\\d*[. ·]*)+)$"_s);
        const auto match = kRank.match(m_typed.toLower());
        if (!match.hasMatch() || m_typed.size() < 2)
            return;
        const Checkpoint& checkpoint = *m_query.checkpoint;
        const QString digits = match.captured(1);
        QString wanted = match.captured(2);
        wanted.remove(QRegularExpression(u"[\\s.·]"_s));
        std::vector<Candidate> found;
        for (uint32_t rank = 0; rank < rankCount(checkpoint); ++rank) {
            const RankCoordinate at = rankAt(checkpoint, rank);
            const QString number = QString::number(rank);
            const QString place = u"dp%1tp%2pp%3"_s.arg(at.dp).arg(at.tp).arg(at.pp);
            if (wanted.isEmpty() ? number.startsWith(digits) : holds(place, wanted))
                found.push_back({number == digits || isWhole(place, wanted) ? 1 : 0, rank});
        }
        keepBest(found, kOfOthers);
        for (const Candidate& candidate : found) {
            SelectedThing thing;
            thing.rank = candidate.position;
            add(FindGroup::Ranks, u"rank %1"_s.arg(candidate.position),
                rankLabel(checkpoint, rankAt(checkpoint, candidate.position)), thing);
        }
    }

    /// Whether each coordinate that was typed begins that of the rank: "dp1" holds for "dp12".
    static bool holds(const QString& place, const QString& wanted)
    {
        static const QRegularExpression kPart(u"(dp|tp|pp)(\\d*)"_s);
        auto parts = kPart.globalMatch(wanted);
        while (parts.hasNext())
            if (!place.contains(parts.next().captured(0)))
                return false;
        return true;
    }

    static bool isWhole(const QString& place, const QString& wanted)
    {
        const QRegularExpression whole(QRegularExpression::escape(wanted) % u"(?!\\d)"_s);
        return !wanted.isEmpty() && whole.match(place).hasMatch();
    }

    void addLayers()
    {
        static const QRegularExpression kLayer(u"^(?:layers?|l)\\s*(\\d*)$"_s);
        const auto match = kLayer.match(m_typed.toLower());
        if (!match.hasMatch() || m_typed.size() < 2 || !m_query.index)
            return;
        struct Layer {
            ParamId first = kNoParam;
            uint64_t params = 0;
            uint64_t bytes = 0;
        };
        std::map<uint32_t, Layer> layers;
        for (uint32_t i = 0; i < m_query.index->size() && !m_token.stop_requested(); ++i) {
            const auto numbered = numberedName(m_query.index->lowerName(i));
            if (!numbered || !QString::number(numbered->number).startsWith(match.captured(1)))
                continue;
            Layer& layer = layers[numbered->number];
            if (layer.params++ == 0)
                layer.first = ParamId{i};
            layer.bytes += m_query.index->facts(ParamId{i}).bytes;
        }
        std::vector<Candidate> found;
        for (const auto& [number, layer] : layers)
            found.push_back({QString::number(number) == match.captured(1) ? 1 : 0, number});
        keepBest(found, kOfOthers);
        for (const Candidate& candidate : found) {
            const Layer& layer = layers[candidate.position];
            SelectedThing thing;
            thing.param = layer.first;
            add(FindGroup::Layers, u"layer %1"_s.arg(candidate.position),
                parametersText(layer.params) % u" · "_s % bytesText(layer.bytes), thing);
        }
    }

    /// "wq[5,7]": the element of parameters whose names match the part before the bracket.
    void addElements()
    {
        static const QRegularExpression kElement(u"^(.+)(\\[[\\d\\s,]+\\])$"_s);
        const auto match = kElement.match(m_typed);
        if (!match.hasMatch() || !m_query.index || !m_out.hits.empty())
            return;
        for (const Candidate& candidate :
            parametersLike(loweredBytes(match.captured(1).trimmed()), kOfOthers)) {
            const uint32_t param = m_query.index->order(ParamColumn::Name)[candidate.position];
            const QString name = QString::fromStdString(m_query.checkpoint->params[param].name);
            const QString element = name % match.captured(2);
            if (auto thing = selectionOf(*m_query.checkpoint, element)) {
                m_out.problem.clear();
                add(FindGroup::Places, toText(element.toStdString()), placeText(*thing), *thing);
            }
        }
    }

    void addFiles()
    {
        const Checkpoint& checkpoint = *m_query.checkpoint;
        const int least = fuzzyPartScore(wordsIn(m_pattern));
        std::vector<Candidate> found;
        for (uint32_t i = 0; i < checkpoint.files.size(); ++i)
            if (const int score = fuzzyScore(m_pattern, loweredBytes(checkpoint.files[i].name));
                score >= least)
                found.push_back({score, i});
        keepBest(found, kOfOthers);
        for (const Candidate& candidate : found) {
            const CheckpointFile& file = checkpoint.files[candidate.position];
            SelectedThing thing;
            thing.file = FileId{candidate.position};
            add(FindGroup::Files, toText(file.name),
                fileRoleText(checkpoint, file.role) % u" · "_s
                    % (file.status == FileStatus::Missing ? u"missing"_s : bytesText(file.identity.bytes)),
                thing);
        }
    }

    void addCommands(bool isPalette)
    {
        const int least = isPalette ? 0 : fuzzyPartScore(wordsIn(m_pattern));
        std::vector<Candidate> found;
        for (uint32_t i = 0; i < m_query.commands.size(); ++i) {
            const int score
                = m_pattern.empty() ? 0 : fuzzyScore(m_pattern, loweredBytes(m_query.commands[i].text));
            if (score >= least && score >= 0)
                found.push_back({score, i});
        }
        keepBest(found, isPalette ? kCommands : kOfOthers);
        for (const Candidate& candidate : found) {
            const FindCommand& command = m_query.commands[candidate.position];
            add(FindGroup::Commands, command.text, command.key, {});
            m_out.hits.back().command = candidate.position;
        }
    }

    /// Positions in the order of names.
    [[nodiscard]] std::vector<Candidate> parametersLike(const std::string& pattern, size_t most)
    {
        const std::vector<uint32_t>& byName = m_query.index->order(ParamColumn::Name);
        std::vector<Candidate> found;
        for (uint32_t i = 0; i < byName.size(); ++i) {
            if (i % 4096 == 0 && m_token.stop_requested())
                break;
            if (const int score = fuzzyScore(pattern, m_query.index->lowerName(byName[i])); score >= 0)
                found.push_back({score, i});
        }
        m_out.more = found.size();
        keepBest(found, most);
        m_out.more -= found.size();
        return found;
    }

    void addParameters()
    {
        if (!m_query.index)
            return;
        const bool isAlone = std::all_of(m_out.hits.begin(), m_out.hits.end(),
            [](const FindHit& hit) { return hit.group == FindGroup::Terms; });
        for (const Candidate& candidate : parametersLike(m_pattern, isAlone ? kAlone : kOfManyKinds)) {
            m_isPart = m_isPart || candidate.score >= fuzzyPartScore(wordsIn(m_pattern));
            const uint32_t param = m_query.index->order(ParamColumn::Name)[candidate.position];
            const Parameter& parameter = m_query.checkpoint->params[param];
            SelectedThing thing;
            thing.param = ParamId{param};
            add(FindGroup::Parameters, toText(parameter.name),
                QString::fromStdString(shapeText(parameter.shape)) % u" · "_s
                    % bytesText(m_query.index->facts(ParamId{param}).bytes),
                thing);
        }
    }

    const FindQuery& m_query;
    const std::stop_token& m_token;
    QString m_typed;
    std::string m_pattern;
    bool m_isPart = false; ///< the best parameter has every word as a part of its name
    FindList m_out;
};

} // namespace

FindList find(const FindQuery& query, const std::stop_token& token)
{
    return Search(query, token).run();
}

bool looksLikePlace(const QString& typed)
{
    static const QRegularExpression kPlace(
        u"^\\s*(>|(rank|layer)(\\s+\\d*|\\d+)$|(dp|tp|pp)\\s*\\d|[+@]?\\s*(0x[0-9a-f]*|\\d[\\d,]*)$)|[#!]|\\+\\d+$|\\["_s,
        QRegularExpression::CaseInsensitiveOption);
    return !(typed.startsWith(u'/') && typed.endsWith(u'/')) && kPlace.match(typed).hasMatch();
}

QString findGroupText(FindGroup group)
{
    switch (group) {
    case FindGroup::Places:
        return u"Places"_s;
    case FindGroup::Ranks:
        return u"Ranks"_s;
    case FindGroup::Layers:
        return u"Layers"_s;
    case FindGroup::Parameters:
        return u"Parameters"_s;
    case FindGroup::Files:
        return u"Files"_s;
    case FindGroup::Terms:
        return u"Filter terms"_s;
    case FindGroup::Saved:
        return u"Saved filters"_s;
    case FindGroup::Commands:
        break;
    }
    return u"Commands"_s;
}

} // namespace shardscope::ui
