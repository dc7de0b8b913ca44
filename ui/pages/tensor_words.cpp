// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/tensor_words.h"

#include "core/layout/address.h"
#include "ui/session/shell_words.h"
#include "ui/tensorview/number_format.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

#include <QApplication>
#include <QClipboard>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

QString tensorFacts(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    const Parameter& param = checkpoint.params[index(source.param)];
    QStringList facts{toText(dtypeName(source.dtype)), QString::fromStdString(shapeText(source.shape)),
        source.elements == 1 ? u"1 element"_s : u"%1 elements"_s.arg(countText(source.elements)),
        bytesText(source.bytes())};
    const bool isWhole = source.state == "weight" && checkpoint.wholeOf(source.param) != nullptr;
    if (isWhole)
        facts.append(u"whole in %1"_s.arg(checkpoint.wholeOf(source.param)->run.isPresent()
                ? toText(checkpoint.file(checkpoint.wholeOf(source.param)->run.file).name)
                : u"no file"_s));
    else if (const FlatUnit* unit = checkpoint.unitOf(source.param))
        facts.append(u"in %1"_s.arg(heldUnitText(checkpoint, *unit)));
    if (toText(param.name) != toText(source.name))
        facts.append(u"shared with %1"_s.arg(toText(param.name)));
    return facts.join(u" · "_s);
}

QString elementWords(TensorPages& pages, uint64_t element)
{
    const TensorSource& source = *pages.source();
    if (source.elements == 0)
        return u"This tensor has no elements."_s;
    const uint8_t* bytes = nullptr;
    QString value;
    switch (pages.element(element, &bytes)) {
    case TensorPages::Known::NotYet:
        value = u"…"_s;
        break;
    case TensorPages::Known::Missing:
        value = lossText(*source.checkpoint, source.param, source.state, element);
        break;
    case TensorPages::Known::Here:
        value = valueText(source.dtype, bytes, {NumberForm::Exact, 0}) % u"  (0x"_s
            % valueText(source.dtype, bytes, {NumberForm::Hex, 0}) % u')';
        break;
    }
    return source.indexText(element) % u" = "_s % value;
}

QString placeWords(const TensorSource& source, uint64_t element)
{
    if (source.elements == 0)
        return {};
    QStringList facts;
    const auto place = locate(*source.checkpoint,
        ParamAddress{source.checkpoint->params[index(source.param)].name, source.state,
            std::pair(element, element + 1)});
    if (place && place->flat)
        facts.append(rankLabel(*source.checkpoint, place->flat->rank));
    if (place && place->file)
        facts.append(u"%1, byte %2"_s.arg(toText(place->file->path), countText(place->fileByte)));
    return facts.join(u" · "_s);
}

QString elementAddress(const TensorSource& source, uint64_t element)
{
    return QString::fromStdString(source.address(element, element + 1));
}

QString showCommand(const TensorSource& source, const CheckPlace& place, uint64_t element)
{
    return ShellCommand(u"show"_s, sourceWords(*source.checkpoint, place))
        .argument(elementAddress(source, element))
        .text();
}

void copyText(const QString& text)
{
    QApplication::clipboard()->setText(text);
}

} // namespace shardscope::ui
