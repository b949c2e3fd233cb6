"""The conversation statements of Service Broker."""

from __future__ import annotations

from redial.tsql.ast import (
    BeginDialog,
    BeginTimer,
    EndConversation,
    Expression,
    GetConversationGroup,
    MoveConversation,
    Receive,
    Send,
)
from redial.tsql.lexer import VARIABLE
from redial.tsql.parser.execute import ExecuteParser

_DIALOG_OPTIONS = ("RELATED_CONVERSATION", "RELATED_CONVERSATION_GROUP", "LIFETIME", "ENCRYPTION")
_RECEIVE_FILTERS = ("CONVERSATION_HANDLE", "CONVERSATION_GROUP_ID")


class BrokerParser(ExecuteParser):
    """BEGIN DIALOG, SEND, RECEIVE and their kin."""

    def begin_dialog(self, start: int) -> BeginDialog:
        """Read BEGIN DIALOG after BEGIN (BEGIN DIALOG CONVERSATION page)."""
        self.expect("DIALOG")
        self.accept("CONVERSATION")
        handle = self.variable()
        self.expect("FROM", "SERVICE")
        from_service = self.name_or_variable()
        self.expect("TO", "SERVICE")
        to_service = self.string_or_variable()
        dialog = BeginDialog(start, start, handle, from_service, to_service)
        if self.accept(","):
            dialog.broker_instance = self.string_or_variable()
        if self.accept_all("ON", "CONTRACT"):
            dialog.contract = self.name_or_variable()
        if self.accept("WITH"):
            self._dialog_options(dialog)
        dialog.end = self.last_end()
        return dialog

    def _dialog_options(self, dialog: BeginDialog) -> None:
        seen: set[str] = set()
        while True:
            i = self.i
            word = self.expect_any(*_DIALOG_OPTIONS)
            group = "RELATED" if word.startswith("RELATED") else word
            if group in seen:
                self.i = i
                self.unexpected()
            seen.add(group)
            self.expect("=")
            if word == "ENCRYPTION":
                dialog.encryption = self.on_off()
            elif word == "LIFETIME":
                dialog.lifetime = self.expression()
            else:
                setattr(dialog, word.lower(), self.expression())
            # Between two options the comma may be left out, as published scripts do.
            if not self.accept(",") and self.words[self.i] not in _DIALOG_OPTIONS:
                return

    def begin_timer(self, start: int) -> BeginTimer:
        """Read BEGIN CONVERSATION TIMER after BEGIN."""
        self.expect("CONVERSATION", "TIMER", "(")
        handle = self.expression()
        self.expect(")", "TIMEOUT", "=")
        timeout = self.expression()
        return BeginTimer(start, self.last_end(), handle, timeout)

    def send(self, start: int) -> Send:
        """Read SEND."""
        self.expect("SEND", "ON", "CONVERSATION")
        in_list = self.words[self.i] == "("
        handles: list[Expression]
        if in_list:
            handles = self.parenthesised(self.expression)
        else:
            handles = [self.string_or_variable()]
        message_type = body = None
        if self.accept_all("MESSAGE", "TYPE"):
            message_type = self.name_or_variable()
        if self.accept("("):
            body = self.expression()
            self.expect(")")
        return Send(start, self.last_end(), handles, message_type, body, in_list)

    def receive(self, start: int) -> Receive:
        """Read RECEIVE."""
        self.expect("RECEIVE")
        top = self.top() if self.words[self.i] == "TOP" else None
        if top is not None and top.percent:  # TOP (n) is all there is (RECEIVE page)
            self.i -= 1
            self.unexpected()
        first = self.i
        items = self.list_of(self.select_item)
        assigning = sum(item.variable is not None for item in items)
        if assigning and assigning != len(items):
            self.i = first
            self.unexpected()
        self.expect("FROM")
        queue = self.object_name(3)
        into = self.variable() if self.accept("INTO") else None
        column = value = None
        if self.accept("WHERE"):
            column = self.expect_filter()
            value = self.string_or_variable()
        end = self.last_end()
        return Receive(start, end, top, items, queue, into, column, value)

    def expect_filter(self) -> str:
        """Read ``column =`` of RECEIVE's WHERE: only two columns are allowed."""
        i = self.i
        column = self.name().upper() if self.at_identifier() else ""
        if column not in _RECEIVE_FILTERS:
            self.i = i
            self.unexpected()
        self.expect("=")
        return column

    def _number_or_variable(self) -> Expression:
        """Read a whole number or a variable (END CONVERSATION page)."""
        return self.variable() if self.kinds[self.i] == VARIABLE else self.integer()

    def get_conversation_group(self, start: int) -> GetConversationGroup:
        """Read GET CONVERSATION GROUP."""
        self.expect("GET", "CONVERSATION", "GROUP")
        variable = self.variable()
        self.expect("FROM")
        queue = self.object_name(3)
        return GetConversationGroup(start, self.last_end(), variable, queue)

    def move_conversation(self, start: int) -> MoveConversation:
        """Read MOVE CONVERSATION."""
        self.expect("MOVE", "CONVERSATION")
        handle = self.expression()
        self.expect("TO")
        group = self.expression()
        return MoveConversation(start, self.last_end(), handle, group)

    def end_conversation(self, start: int) -> EndConversation:
        """Read END CONVERSATION; WITH ERROR needs a DESCRIPTION."""
        self.expect("END", "CONVERSATION")
        handle = self.expression()
        statement = EndConversation(start, start, handle, False, None, None)
        if self.accept("WITH"):
            if self.accept("CLEANUP"):
                statement.cleanup = True
            else:
                self.expect("ERROR", "=")
                statement.error = self._number_or_variable()
                self.expect("DESCRIPTION", "=")
                statement.description = self.string_or_variable()
        statement.end = self.last_end()
        return statement
