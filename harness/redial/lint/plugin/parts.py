"""Pieces of grammar that several statements share."""

from __future__ import annotations

from typing import Any

from sqlfluff.core.parser import OneOf, Ref, Sequence

EQUALS = Ref("EqualsSegment")
NAME = Ref("SingleIdentifierGrammar")
"""[//brackets], naked, "quoted" or @variable."""
OBJECT = Ref("ObjectReferenceSegment")
QUEUE = Ref("QueueReferenceSegment")
VARIABLE = Ref("ParameterNameSegment")
EXPRESSION = Ref("ExpressionSegment")
STRING = OneOf(Ref("QuotedLiteralSegmentOptWithN"), VARIABLE)
INTEGER = OneOf(Ref("IntegerLiteralSegment"), Ref("NumericLiteralSegment"), VARIABLE)
ON_OFF = OneOf("ON", "OFF")
AUTHORIZATION = Sequence("AUTHORIZATION", NAME, optional=True)


def option(keyword: Any, value: Any) -> Sequence:
    """``keyword = value``."""
    return Sequence(keyword, EQUALS, value)
