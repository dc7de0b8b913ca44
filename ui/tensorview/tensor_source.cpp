// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_source.h"

#include "core/far/far_path.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"

#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

std::vector<uint64_t> indexOf(const Shape& shape, uint64_t element)
{
    std::vector<uint64_t> out(shape.size());
    for (size_t axis = shape.size(); axis-- > 0;) {
        const uint64_t length = std::max<uint64_t>(shape[axis], 1);
        out[axis] = element % length;
        element /= length;
    }
    return out;
}

TensorSourcePtr TensorSource::make(const CheckpointPtr& checkpoint, ParamId param, const std::string& state)
{
    const auto found = findState(*checkpoint, param, state);
    if (!found)
        return nullptr;
    auto out = std::make_shared<TensorSource>();
    out->checkpoint = checkpoint;
    out->param = found->param;
    out->name = checkpoint->params[index(param)].name;
    out->state = state;
    out->dtype = found->dtype;
    out->elements = found->elements;
    out->shape = checkpoint->params[index(found->param)].shape;
    if (elementCount(out->shape) != out->elements)
        out->shape = {out->elements};
    return out;
}

bool TensorSource::isFar() const
{
    return far::isElsewhere(checkpoint->tagFolder);
}

QString TensorSource::indexText(uint64_t element) const
{
    QStringList parts;
    for (const uint64_t position : indexOf(shape, element))
        parts.append(QString::number(position));
    return u'[' % parts.join(u", "_s) % u']';
}

std::string TensorSource::address(uint64_t begin, uint64_t end) const
{
    return formatAddress(ParamAddress{name, state, std::pair(begin, end)});
}

} // namespace shardscope::ui
