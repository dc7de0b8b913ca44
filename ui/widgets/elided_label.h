// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

class QTextLayout;

namespace shardscope::ui {

/// One line of text, elided in the middle if there is no space, or a sentence at its end; the tool tip shows
/// all of it. Or all of the text, in as many lines as it needs.
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
    /// Wraps instead, also within words that are longer than a line.
    void setWraps(bool wraps);
    [[nodiscard]] bool hasHeightForWidth() const override { return m_wraps; }
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {24, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Places the lines; returns their height.
    qreal layOut(QTextLayout& layout, int width) const;
    [[nodiscard]] Qt::Alignment side() const;

    QString m_text;
    Qt::Alignment m_alignment = Qt::AlignLeft | Qt::AlignVCenter;
    bool m_isSentence = false;
    bool m_wraps = false;
};

} // namespace shardscope::ui
