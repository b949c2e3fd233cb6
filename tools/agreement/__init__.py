"""How far the embedded broker's parser agrees with Microsoft's own, statement by statement."""
