// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <cstdint>

namespace shardscope::ui {

/// The element that grid, heat map and bytes show together. GUI thread only.
class ElementCursor : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    [[nodiscard]] uint64_t element() const { return m_element; }
    void set(uint64_t element)
    {
        if (element == m_element)
            return;
        m_element = element;
        Q_EMIT changed(element);
    }

Q_SIGNALS:
    void changed(quint64 element);

private:
    uint64_t m_element = 0;
};

} // namespace shardscope::ui
