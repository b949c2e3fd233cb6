"""Messages of xml by number; ``messages.MESSAGES`` includes them.

Texts are those of the errors-events pages. An XQuery message begins with the method it belongs to,
which the caller puts in front ("XQuery [value()]: ").
"""

from __future__ import annotations

_PARSING = {
    9401: "unrecognized encoding",
    9403: "unrecognized input signature",
    9463: "xml:space has a non-legal value",
}

XML_MESSAGES: dict[int, tuple[int, str]] = {
    2203: (
        16,
        "%sOnly 'http://www.w3.org/2001/XMLSchema#decimal?', "
        "'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions allowed as "
        "predicates, found '%s'",
    ),
    2204: (
        16,
        "%sOnly 'http://www.w3.org/2001/XMLSchema#boolean?' or 'node()*' expressions "
        "allowed in conditions and with logical operators, found '%s'",
    ),
    2205: (16, '%s"%s" was expected.'),
    2207: (16, '%sOnly non-document nodes can be inserted. Found "%s".'),
    2209: (16, "%sSyntax error near '%s'"),
    2210: (16, "%sHeterogeneous sequences are not allowed: found '%s' and '%s'"),
    2223: (16, "%sSyntax error near '%s', expected an identifier."),
    2225: (16, "%sA string literal was expected"),
    2226: (16, "%sThe target of 'insert' must be a single node, found '%s'"),
    2227: (16, "%sThe variable '%s' was not found in the scope in which it was referenced."),
    2229: (16, '%sThe name "%s" does not denote a namespace.'),
    2231: (16, '%sThe name "%s" does not denote a defined type.'),
    2232: (16, '%sThe name "%s:%s" does not denote a defined type.'),
    2234: (16, '%sThe operator "%s" cannot be applied to "%s" and "%s" operands.'),
    2236: (16, '%sThere are not enough actual arguments in the call to function "%s".'),
    2238: (16, "%sToo many arguments in call to function '%s'"),
    2240: (16, "%sThe target of 'insert into' must be an element/document node, found '%s'"),
    2241: (16, "%sVariable expected: '$name'"),
    2242: (16, "%sType specification expected."),
    2247: (16, '%sThe value is of type "%s", which is not a subtype of the expected type "%s".'),
    2248: (16, "%sSyntax error near '%s', expected 'as', 'into', 'before' or 'after'."),
    2249: (
        16,
        "%sThe target of 'insert before/after' must be an element/PI/comment/text node, found '%s'",
    ),
    2258: (16, "%sThe position may not be specified when inserting an attribute node, found '%s'"),
    2264: (16, "%sOnly non-document nodes may be deleted, found '%s'"),
    2271: (16, "%sDuplicate attribute '%s'"),
    2272: (16, "%s'?>' expected"),
    2273: (16, "%sUnterminated CDATA section"),
    2274: (16, "%sUnterminated string constant (started on line %s)"),
    2278: (16, "%sA tag name may not start with the character '%s'"),
    2282: (16, "%sInvalid entity reference"),
    2283: (16, "%sThe character '%s' may not be part of an entity reference"),
    2285: (16, "%sInvalid numeric entity reference"),
    2294: (16, "%s'xml' is not allowed as a processing instruction target."),
    2302: (16, '%sThe name "%s" has already been defined in this scope.'),
    2307: (16, "%sReference to an undefined name '%s'"),
    2308: (16, "%sReference to an undefined name '%s' within namespace '%s'"),
    2323: (16, "%sThe end tag '%s' doesn't match opening tag '%s' from line %s"),
    2337: (16, "%sThe target of 'replace' must be at most one node, found '%s'"),
    2340: (16, "%sComment started on line %s has no end"),
    2342: (16, "%sInvalid numeric constant."),
    2349: (16, "%sAttempt to redefine namespace prefix '%s'"),
    2351: (16, "%sExpected 'first' or 'last'"),
    2356: (
        16,
        "%sThe target of 'replace value of' must be a non-metadata attribute or an element "
        "with simple typed content, found '%s'",
    ),
    2364: (16, "%sCannot implicitly convert from '%s' to '%s'"),
    2365: (16, "%sCannot explicitly convert from '%s' to '%s'"),
    2371: (16, "%s'%s' can only be used within a predicate or XPath selector"),
    2373: (16, "%s%s is not supported with constructed XML"),
    2374: (16, "%sA node or set of nodes is required for %s"),
    2378: (16, "%sExpected XML schema document"),
    2389: (16, "%s'%s' requires a singleton (or empty sequence), found operand of type '%s'"),
    2391: (16, "%sRedefining XSD schemas is not supported"),
    2392: (16, "%s'%s::' is not a valid axis"),
    2395: (16, "%sThere is no function '%s:%s()'"),
    2396: (16, "%sAttribute may not appear outside of an element"),
    214: (16, "Procedure expects parameter '%s' of type '%s'."),
    281: (16, "%d is not a valid style number when converting from %s to a character string."),
    4199: (16, "Argument value %s is invalid for argument %s of %s function."),
    5373: (
        16,
        "All the input parameters should be of the same type. Supported types are tinyint, "
        "smallint, int, bigint, decimal and numeric.",
    ),
    8748: (
        16,
        "The enable_ordinal argument for STRING_SPLIT only supports constant values (not "
        "variables or columns).",
    ),
    5302: (16, "Mutator '%s()' on '%s' cannot be called on a null value."),
    6302: (
        16,
        "The argument of CREATE or ALTER XML SCHEMA COLLECTION statement must be a string "
        "expression.",
    ),
    6305: (16, "XQuery data manipulation expression required in XML data type method."),
    6306: (16, "Invalid XQuery expression passed to XML data type method."),
    6307: (
        16,
        "XML well-formedness check: Attribute cannot appear outside of element declaration. "
        "Rewrite your XQuery so it returns well-formed XML.",
    ),
    6308: (
        16,
        "XML well-formedness check: Duplicate attribute '%s'. Rewrite your XQuery so it "
        "returns well-formed XML.",
    ),
    6310: (
        16,
        "Altering existing schema components is not allowed. There was an attempt to modify "
        "an existing XML Schema component, component namespace: '%s' component name: '%s' "
        "component kind:%s",
    ),
    6314: (16, "Collection specified does not exist in metadata : '%s'"),
    6320: (16, "XQuery: Only nillable elements or text nodes can be updated with empty sequence"),
    6325: (
        16,
        "XQuery: Replacing the value of a node with an empty sequence is allowed only if "
        "'()' is used as the new value expression. The new value expression evaluated to an "
        "empty sequence but it is not '()'.",
    ),
    6328: (16, "Specified collection '%s' cannot be dropped because it is used by %s '%s'."),
    6335: (
        16,
        "XML datatype instance has too many levels of nested nodes. Maximum allowed depth "
        "is %d levels.",
    ),
    6347: (
        16,
        "Specified collection '%s' cannot be altered because it does not exist or you do "
        "not have permission.",
    ),
    6348: (
        16,
        "Specified collection '%s' cannot be created because it already exists or you do "
        "not have permission.",
    ),
    6352: (
        16,
        "Invalid parameter specified. XML Schema Collections can only be created from a "
        "string literal, or from a variable typed as a string or untyped XML.",
    ),
    6358: (16, "%d is not a valid style number when converting to XML."),
    6361: (
        16,
        "Invalid null parameter specified. XML Schema Collections can only be created from "
        "a non-null value.",
    ),
    6602: (16, "The error description is '%s'."),
    6603: (16, "XML parsing error: %s"),
    6800: (
        16,
        "FOR XML AUTO requires at least one table for generating XML tags. Use FOR XML RAW "
        "or add a FROM clause with a table name.",
    ),
    6801: (
        16,
        "FOR XML EXPLICIT requires at least three columns, including the tag column, the "
        "parent column, and at least one data column.",
    ),
    6802: (
        16,
        "FOR XML EXPLICIT query contains the invalid column name '%s'. Use the "
        "TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive integer.",
    ),
    6803: (
        16,
        "FOR XML EXPLICIT requires the first column to hold positive integers that "
        "represent XML tag IDs.",
    ),
    6804: (
        16,
        "FOR XML EXPLICIT requires the second column to hold NULL or nonnegative integers "
        "that represent XML parent tag IDs.",
    ),
    6805: (
        16,
        "FOR XML EXPLICIT stack overflow occurred. Circular parent tag relationships are "
        "not allowed.",
    ),
    6806: (16, "Undeclared tag ID %s is used in a FOR XML EXPLICIT query."),
    6807: (16, "Undeclared parent tag ID %s is used in a FOR XML EXPLICIT query."),
    6810: (
        16,
        "Column name '%s' is repeated. The same attribute cannot be generated more than "
        "once on the same XML tag.",
    ),
    6812: (16, "XML tag ID %s that was originally declared as '%s' is being redeclared as '%s'."),
    6813: (
        16,
        "FOR XML EXPLICIT cannot combine multiple occurrences of ID, IDREF, IDREFS, "
        "NMTOKEN, and/or NMTOKENS in column name '%s'.",
    ),
    6815: (
        16,
        "In the FOR XML EXPLICIT clause, ID, IDREF, IDREFS, NMTOKEN, and NMTOKENS "
        "attributes cannot be hidden in '%s'.",
    ),
    6817: (
        16,
        "FOR XML EXPLICIT cannot combine multiple occurrences of ELEMENT, XML, XMLTEXT, and "
        "CDATA in column name '%s'.",
    ),
    6819: (16, "The FOR XML clause is not allowed in a %s statement."),
    6820: (16, "FOR XML EXPLICIT requires column %s to be named '%s' instead of '%s'."),
    6824: (16, "In the FOR XML EXPLICIT clause, mode '%s' in a column name is invalid."),
    6825: (16, "ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML."),
    6829: (
        16,
        "FOR XML EXPLICIT and RAW modes currently do not support addressing binary data as "
        "URLs in column '%s'. Remove the column, or use the BINARY BASE64 mode, or create "
        "the URL directly using the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax.",
    ),
    6830: (
        16,
        "FOR XML AUTO could not find the table owning the following column '%s' to create a "
        "URL address for it. Remove the column, or use the BINARY BASE64 mode, or create "
        "the URL directly using the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax.",
    ),
    6831: (
        16,
        "FOR XML AUTO requires primary keys to create references for '%s'. Select primary "
        "keys, or use BINARY BASE64 to obtain binary data in encoded form if no primary "
        "keys exist.",
    ),
    6833: (
        16,
        "Parent tag ID %s is not among the open tags. FOR XML EXPLICIT requires parent tags "
        "to be opened first. Check the ordering of the result set.",
    ),
    6834: (
        16,
        "XMLTEXT field '%s' contains an invalid XML document. Check the root tag and its "
        "attributes.",
    ),
    6835: (16, "FOR XML EXPLICIT field '%s' can specify the directive HIDE only once."),
    6846: (16, "XML name space prefix '%s' declaration is missing for FOR XML %s name '%s'."),
    6849: (
        16,
        "FOR XML PATH error in column '%s' - '//' and leading and trailing '/' are not "
        "allowed in simple path expressions.",
    ),
    6850: (
        16,
        "%s name '%s' contains an invalid XML identifier as required by FOR XML; "
        "'%s'(0x%04X) is the first character at fault.",
    ),
    6851: (
        16,
        "Column '%s' has invalid data type for attribute-centric XML serialization in FOR "
        "XML PATH.",
    ),
    6853: (
        16,
        "Column '%s': the last step in the path can't be applied to XML data type or CLR "
        "type in FOR XML PATH.",
    ),
    6854: (
        16,
        "Invalid column alias '%s' for formatting column as XML processing instruction in "
        "FOR XML PATH - it must be in 'processing-instruction(target)' format.",
    ),
    6855: (16, "Inline schema is not supported with FOR XML PATH."),
    6859: (15, "Row tag name is only allowed with RAW or PATH mode of FOR XML."),
    6861: (16, "Empty root tag name can't be specified with FOR XML."),
    6867: (
        16,
        "'xmlns' is invalid in XML tag name in FOR XML PATH, or when WITH XMLNAMESPACES is "
        "used with FOR XML.",
    ),
    6868: (
        16,
        "The following FOR XML features are not supported with WITH XMLNAMESPACES list: "
        "EXPLICIT mode, XMLSCHEMA and XMLDATA directives.",
    ),
    6869: (16, "Attempt to redefine namespace prefix '%s'"),
    6871: (
        16,
        "Prefix '%s' used in WITH XMLNAMESPACES is reserved and cannot be used as a "
        "user-defined prefix.",
    ),
    6872: (
        16,
        "XML namespace prefix 'xml' can only be associated with the URI "
        "http://www.w3.org/XML/1998/namespace. This URI cannot be used with other "
        "prefixes.",
    ),
    6873: (
        16,
        "Redefinition of 'xsi' XML namespace prefix is not supported with ELEMENTS XSINIL "
        "option of FOR XML.",
    ),
    6874: (16, "Empty URI is not allowed in WITH XMLNAMESPACES clause."),
    6879: (
        16,
        "'xml' is an invalid XML processing instruction target. Possible attempt to "
        "construct XML declaration using XML processing instruction constructor. XML "
        "declaration construction with FOR XML is not supported.",
    ),
    6901: (16, "XML Validation: XML instance must be a document."),
    6905: (16, "XML Validation: Attribute '%s' is not permitted in this context. Location: %s"),
    6906: (16, "XML Validation: Required attribute '%s' is missing. Location: %s"),
    6908: (16, "XML Validation: Invalid content. Expected element(s): %s. Location: %s"),
    6909: (
        16,
        "XML Validation: Text node is not allowed at this location, the type was defined "
        "with element only content or with simple content. Location: %s",
    ),
    6911: (16, "XML Validation: Found duplicate element '%s' in all content model. Location: %s"),
    6912: (16, "XML Validation: Element '%s' found in text only content model. Location: %s"),
    6913: (16, "XML Validation: Declaration not found for element '%s'. Location: %s"),
    6914: (
        16,
        "XML Validation: Type definition for type '%s' was not found, type definition is "
        "required before use in a type cast. Location: %s",
    ),
    6917: (
        16,
        "XML Validation: Element '%s' may not have xsi:nil=\"true\" because it was not "
        "defined as nillable or because it has a fixed value constraint. Location: %s",
    ),
    6918: (
        16,
        "XML Validation: Element '%s' must not have character or element children, because "
        "xsi:nil was set to true. Location: %s",
    ),
    6919: (
        16,
        "XML Validation: The type of element '%s' is abstract. Instantiation requires the "
        "use of xsi:type to specify a non-abstract type. Location: %s",
    ),
    6921: (
        16,
        "XML Validation: Element or attribute '%s' was defined as fixed, the element value "
        "has to be equal to value of 'fixed' attribute specified in definition. "
        "Location: %s",
    ),
    6923: (16, "XML Validation: Unexpected element(s): %s. Location: %s"),
    6924: (16, "XML Validation: Text '%s' found in attribute-only content model. Location: %s"),
    6926: (16, "XML Validation: Invalid simple type value: '%s'. Location: %s"),
    6936: (
        16,
        "XML Validation: Invalid cast for element '%s' from type '%s' to type '%s'. Location: %s",
    ),
    6965: (
        16,
        "XML Validation: Invalid content. Expected element(s): %s. Found: element '%s' "
        "instead. Location: %s.",
    ),
    7139: (
        16,
        "Length of LOB data (%s) to be replicated exceeds configured maximum %s. Use the stored "
        "procedure sp_configure to increase the configured maximum value for max text repl size "
        "option, which defaults to 65536. A configured value of -1 indicates no limit, other than the "
        "limit imposed by the data type.",
    ),
    7119: (16, "Attempting to grow LOB beyond maximum allowed size of %d bytes."),
    7116: (16, "Offset %d is not in the range of available LOB data."),
    7135: (16, "Deletion length %d is not in the range of available text, ntext, or image data."),
    8113: (
        16,
        "Incorrect use of the XML data type method '%s'. A mutator method is expected in "
        "this context.",
    ),
    8137: (
        16,
        "Incorrect use of the XML data type method '%s'. A non-mutator method is expected "
        "in this context.",
    ),
    9301: (
        16,
        "%sIn this version of the server, 'cast as <type>%s' is not available. Please use "
        "the 'cast as <type> ?' syntax.",
    ),
    9303: (16, "%sSyntax error near '%s', expected '%s'."),
    9304: (16, "%sThis version of the server only supports XQuery version '1.0'."),
    9308: (
        16,
        "%sThe argument of '%s' must be of a single numeric primitive type or "
        "'http://www.w3.org/2004/07/xpath-datatypes#untypedAtomic'. Found argument of type "
        "'%s'.",
    ),
    9310: (16, "%sThe 'with' clause of 'replace value of' cannot contain constructed XML."),
    9312: (
        16,
        "%s'%s' is not supported on simple typed or "
        "'http://www.w3.org/2001/XMLSchema#anyType' elements, found '%s'.",
    ),
    9313: (
        16,
        "%sThis version of the server does not support multiple expressions or expressions "
        "mixed with strings in an attribute constructor.",
    ),
    9315: (
        16,
        "%sOnly constant expressions are supported for the name expression of computed "
        "element and attribute constructors.",
    ),
    9316: (16, "%sCannot use 'xmlns' in the name expression of computed attribute constructor."),
    9317: (16, "%sSyntax error near '%s', expected string literal."),
    9319: (16, "%sStatic simple type validation: Invalid simple type value '%s'."),
    9322: (
        16,
        "%sTwo consecutive '-' can only appear in a comment constructor if they are used to "
        "close the comment ('-->').",
    ),
    9323: (16, "%sUsing ':' in variable names is not supported in this version of the server."),
    9324: (
        16,
        "%sFound '}' without matching '{'. If you want to use the characters '{' or '}', "
        "you need to escape them as '{{' or '}}' respectively.",
    ),
    9325: (16, "%sComputed processing instruction constructors are not supported."),
    9326: (16, "%sComputed comment constructors are not supported."),
    9327: (16, "%sAll prolog entries need to end with ';', found '%s'."),
    9328: (16, "%sType specification expected, found '%s'."),
    9332: (16, "%sSyntax error near '%s', expected 'where', '(stable) order by' or 'return'."),
    9335: (16, "%sThe XQuery syntax '%s' is not supported."),
    9336: (16, "%sThe XML Schema syntax '%s' is not supported."),
    9338: (
        16,
        "%sThe value of a namespace declaration attribute must be a string literal. It "
        "cannot contain expressions.",
    ),
    9341: (16, "%sSyntax error near '%s', expected a step expression."),
    9342: (
        16,
        "%sAn XML instance is only supported as the direct source of an insert using "
        "sql:column/sql:variable.",
    ),
    9344: (16, "%sThe SQL type '%s' is not supported with sql:column() and sql:variable()."),
    9501: (
        16,
        "XQuery: Unable to resolve sql:variable('%s'). The variable must be declared as a "
        "scalar TSQL variable.",
    ),
    9519: (
        16,
        "The sql:variable function was called with an invalid name '%s': a variable begins with @.",
    ),
    **{
        number: (16, f"XML parsing: line %d, character %d, {text}")
        for number, text in _PARSING.items()
    },
}

XML_ABORTS: dict[int, str] = {
    # As under XACT_ABORT ON, whatever the option says (observed, F-220).
    **dict.fromkeys((5302, 6307, 6308, 6320, 6325, 6335), "batch"),
    **dict.fromkeys(
        (
            6901,
            6905,
            6906,
            6908,
            6909,
            6911,
            6912,
            6913,
            6914,
            6917,
            6918,
            6919,
            6921,
            6923,
            6924,
            6926,
            6936,
            6965,
        ),
        "batch",
    ),
}
