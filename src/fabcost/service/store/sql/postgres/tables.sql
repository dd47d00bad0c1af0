SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename
