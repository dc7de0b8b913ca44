// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSpinBox>

#include <utility>

namespace shardscope::ui {

/// Calls `act()` when the value of the box changes. QSpinBox::valueChanged also comes when Enter confirms the
/// value that is there, and a dialog that then begins to plan again would not take Enter as Start.
template <class Act>
void onChangedValue(QSpinBox* box, QObject* context, Act act)
{
    QObject::connect(box, &QSpinBox::valueChanged, context, [act, last = box->value()](int value) mutable {
        if (std::exchange(last, value) != value)
            act();
    });
}

} // namespace shardscope::ui
