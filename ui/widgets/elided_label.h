// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

namespace shardscope::ui {

/// One line of text, elided in the middle if there is no space, or a sentence at its end; the tool tip shows
/// all of it.
class ElidedLabel : public QFrame
{
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);

    void setText(const QString& text);
    [[nodiscard]] const QString& text() const { return m_text; }
    void setAlignment(Qt::Alignment alignment);
    /// For sentences, which say at their beginning what matters.
    void setIsSentence(bool isSentence);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {24, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
    Qt::Alignment m_alignment = Qt::AlignLeft | Qt::AlignVCenter;
    bool m_isSentence = false;
};

} // namespace shardscope::ui
